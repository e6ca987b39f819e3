"""What PyG asks of its own DeeperGCN modules, asked of accelerated ones: convolution, aggregations, MessageNorm,
DeepGCNLayer and GroupAddRev. The cases are those of its test suite, in our own words."""

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch.testing import assert_close
from torch_geometric import EdgeIndex

import deepergcn

EDGES = torch.tensor([[0, 1, 2, 3], [0, 0, 1, 1]])


def matrix(values: torch.Tensor, columns: int) -> torch.Tensor:
    """``adj_t`` of EDGES: rows are targets; values of one or two dimensions."""
    size = (columns, 4, *values.shape[1:])
    return torch.sparse_coo_tensor(EDGES.flip(0), values, size, check_invariants=True).coalesce()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("aggr", ["softmax", "powermean", ["softmax", "powermean"]])
def test_convolution(aggr: Any) -> None:
    torch.manual_seed(0)
    x, target, value = torch.randn(4, 16), torch.randn(2, 16), torch.randn(4, 16)
    conv = deepergcn.accelerate(pyg.GENConv(16, 32, aggr, edge_dim=16))
    assert str(conv) == f"GENConv(16, 32, aggr={aggr})"
    for arguments, count, shape in ((x, 4, (4, 4)), ((x, target), 2, (4, 2))):
        plain = conv(arguments, EDGES)
        assert plain.shape == (count, 32)
        for same in (
            conv(arguments, EDGES, size=shape),
            conv(arguments, matrix(torch.ones(4), count)),
            conv(arguments, matrix(torch.ones(4), count).to_sparse_csr()),
            conv(arguments, EdgeIndex(EDGES, sparse_size=shape)),
        ):
            assert_close(same, plain, atol=1e-4, rtol=1e-4)
        weighted = conv(arguments, EDGES, value)
        assert_close(conv(arguments, EDGES, value, shape), weighted, atol=1e-4, rtol=1e-4)
        assert_close(conv(arguments, matrix(value, count)), weighted, atol=1e-4, rtol=1e-4)
        if not isinstance(aggr, list):
            script = torch.jit.script(conv)
            assert_close(script(arguments, EDGES), plain, atol=1e-4, rtol=1e-4)
            assert_close(script(arguments, EDGES, value, size=shape), weighted, atol=1e-4, rtol=1e-4)
    alone = conv((x, None), EDGES, size=(4, 2))
    assert alone.shape == (2, 32)
    assert_close(conv((x, None), matrix(torch.ones(4), 2)), alone, atol=1e-4, rtol=1e-4)
    conv.reset_parameters()


def test_lazy_bipartite_convolution() -> None:
    conv = deepergcn.accelerate(pyg.GENConv((-1, -1), 32, edge_dim=-1))
    assert str(conv) == "GENConv((-1, -1), 32, aggr=softmax)"
    out = conv((torch.randn(4, 8), torch.randn(2, 16)), EDGES, torch.randn(4, 16))
    assert out.shape == (2, 32)


@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min", "Mul", "Var", "Std"])
def test_aggregations_by_index_and_pointer(name: str) -> None:
    torch.manual_seed(0)
    x, index, ptr = torch.randn(6, 16), torch.tensor([0, 0, 1, 1, 1, 2]), torch.tensor([0, 2, 5, 6])
    aggr = deepergcn.accelerate(getattr(pyg, f"{name}Aggregation")())
    assert str(aggr) == f"{name}Aggregation()"
    out = aggr(x, index)
    assert out.shape == (3, 16)
    if name == "Mul":
        with pytest.raises(NotImplementedError, match="requires 'index'"):
            aggr(x, ptr=ptr)
    else:
        assert_close(aggr(x, ptr=ptr), out)
    if name == "Min":
        assert_close(out[2], x[5])


@pytest.mark.parametrize("name", ["Softmax", "Var", "Std"])
def test_semi_gradients_are_others(name: str) -> None:
    index = torch.tensor([0, 0, 1, 1, 1, 2])
    grads: list[Any] = []
    for semi_grad in (False, True):
        torch.manual_seed(0)
        x = torch.randn(6, 16, requires_grad=True)
        aggr = deepergcn.accelerate(getattr(pyg, f"{name}Aggregation")(semi_grad=semi_grad))
        aggr(x, index).mean().backward()
        grads.append(x.grad)
    assert not torch.allclose(*grads)


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize(("cls", "parameter"), [(pyg.SoftmaxAggregation, "t"), (pyg.PowerMeanAggregation, "p")])
def test_softmax_and_power_mean(cls: Any, parameter: str, learn: bool) -> None:
    torch.manual_seed(0)
    x, index, ptr = torch.rand(6, 16) + 0.1, torch.tensor([0, 0, 1, 1, 1, 2]), torch.tensor([0, 2, 5, 6])
    aggr = deepergcn.accelerate(cls(learn=learn))
    assert str(aggr) == f"{cls.__name__}(learn={learn})"
    out = aggr(x, index)
    assert out.shape == (3, 16)
    assert_close(aggr(x, ptr=ptr), out)
    if learn:
        out.mean().backward()
        assert getattr(aggr, parameter).grad.abs().sum() > 0


@pytest.mark.parametrize("cls", [pyg.SoftmaxAggregation, pyg.PowerMeanAggregation])
def test_a_parameter_for_each_channel(cls: Any) -> None:
    x, index = torch.rand(6, 16) + 0.1, torch.tensor([0, 0, 1, 1, 1, 2])
    aggr = deepergcn.accelerate(cls(learn=True, channels=16))
    aggr(x, index).mean().backward()
    (parameter,) = aggr.parameters()
    assert parameter.grad is not None
    assert parameter.grad.shape == (16,)
    with pytest.raises(ValueError, match="two-dimensional"):
        aggr(x[None], index)
    with pytest.raises(ValueError, match="not trainable"):
        cls(learn=False, channels=16)


def test_what_an_aggregation_refuses() -> None:
    aggr = deepergcn.accelerate(pyg.MeanAggregation())
    x, index, ptr = torch.randn(6, 16), torch.tensor([0, 0, 1, 1, 1, 2]), torch.tensor([0, 2, 5, 6])
    with pytest.raises(ValueError, match="invalid dimension"):
        aggr(x, index, dim=-3)
    with pytest.raises(ValueError, match="invalid 'dim_size'"):
        aggr(x, ptr=ptr, dim_size=2)
    with pytest.raises(ValueError, match="invalid 'dim_size'"):
        aggr(x, index, dim_size=2)


@pytest.mark.parametrize("learn_scale", [True, False])
def test_message_norm(learn_scale: bool) -> None:
    norm = deepergcn.accelerate(pyg.MessageNorm(learn_scale))
    assert str(norm) == f"MessageNorm(learn_scale={learn_scale})"
    assert norm(torch.randn(100, 16), torch.randn(100, 16)).shape == (100, 16)


@pytest.mark.parametrize("ckpt_grad", [True, False])
@pytest.mark.parametrize(("block", "expansion"), [("res+", 1), ("res", 1), ("dense", 2), ("plain", 1)])
def test_deep_layer(block: str, expansion: int, ckpt_grad: bool) -> None:
    layer = pyg.DeepGCNLayer(pyg.GENConv(8, 8), pyg.LayerNorm(8), nn.ReLU(), block=block, ckpt_grad=ckpt_grad)
    layer = deepergcn.accelerate(layer)
    assert str(layer) == f"DeepGCNLayer(block={block})"
    out = layer(torch.randn(3, 8, requires_grad=True), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    assert out.shape == (3, 8 * expansion)
    out.sum().backward()


@pytest.mark.parametrize("num_groups", [2, 4, 8, 16])
@pytest.mark.parametrize("use", ["inverse", "backward", "twice", "disable", "arguments"])
def test_reversible_groups(use: str, num_groups: int) -> None:
    torch.manual_seed(0)
    width = 32 // num_groups
    conv = pyg.GraphConv(width, width) if use == "arguments" else pyg.SAGEConv(width, width)
    passes = 4 if use == "twice" else 1
    model = pyg.GroupAddRev(conv, num_groups=num_groups, disable=use == "disable", num_bwd_passes=passes)
    model = deepergcn.accelerate(model)
    assert len(deepergcn.accelerated(model).fast) == num_groups
    kind = type(conv).__name__
    assert str(model) == f"GroupAddRev({kind}({width}, {width}, aggr={conv.aggr}), num_groups={num_groups})" or (
        use == "arguments"
    )
    h = nn.Linear(32, 32)(torch.randn(4, 32))
    before = h.detach().clone()
    out = model(h, EDGES, torch.rand(4)) if use == "arguments" else model(h, EDGES)
    match use:
        case "inverse":
            assert h.untyped_storage().size() == 0
            assert_close(model.inverse(out, EDGES), before, atol=1e-3, rtol=1e-3)
        case "twice":
            target = out.mean()
            target.backward(retain_graph=True)
            target.backward(retain_graph=True)
            leaves = [h, *model.parameters()]
            torch.autograd.grad(target, leaves, retain_graph=True)
            torch.autograd.grad(target, leaves)
        case _:
            out.mean().backward()
            assert (h.untyped_storage().size() == 4 * 4 * 32) == (use == "disable") or use != "disable"
