"""Accelerated PyG models keep their weights and give PyG's outputs and gradients, clamps included."""

import copy
import re
import subprocess
import sys
import warnings
from contextlib import nullcontext
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.testing import assert_close
from torch_geometric.typing import OptTensor

import deepergcn
from deepergcn.nn.pyg.fast_conv import FastGENConv
from deepergcn.ops import Adjacency
from tests.nn.pyg.models import EDGES, DeeperGCN, features, outcome


def conv(**options: Any) -> Any:
    torch.manual_seed(0)
    module = pyg.GENConv(8, 8, **options).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module


def accelerated(model: nn.Module) -> Any:
    fast = deepergcn.accelerate(copy.deepcopy(model))
    assert not deepergcn.accelerated(fast).left
    return fast


@pytest.mark.parametrize("edge_dim", [None, 8, 3, 70])
@pytest.mark.parametrize(
    "options",
    [
        {"aggr": "softmax", "t": 0.3},
        {"aggr": "softmax", "learn_t": True, "msg_norm": True, "learn_msg_scale": True},
        {"aggr": "softmax_sg", "t": 2.0, "norm": "layer", "bias": True},
        {"aggr": "softmax", "aggr_kwargs": {"t": 0.5, "learn": True, "channels": 8}},
        {"aggr": "powermean"},
        {"aggr": "powermean", "p": 3.0},
        {"aggr": "powermean", "p": -0.7, "learn_p": True},
        {"aggr": "powermean", "aggr_kwargs": {"p": 2.0, "learn": True, "channels": 8}},
        {"aggr": "powermean", "aggr_kwargs": {"p": 2.0, "clamp_min": 0.5, "clamp_max": None}},
        {"aggr": "powermean", "aggr_kwargs": {"p": -2.0, "learn": True, "clamp_min": 0.5, "clamp_max": 1.0}},
        {"aggr": "add", "num_layers": 1},
        {"aggr": "mean"},
        {"aggr": "max"},
        {"aggr": "min"},
    ],
    ids=str,
)
def test_gen_conv(options: dict[str, Any], edge_dim: int | None) -> None:
    theirs = conv(edge_dim=edge_dim, **options)
    edge_attr = None if edge_dim is None else features(edge_dim, rows=10)
    # Two more vertices than the edges reach: PyG's clamp makes something of their empty neighbourhoods.
    arguments = (features(8, rows=9), EDGES, edge_attr)
    assert_close(outcome(accelerated(theirs), *arguments), outcome(theirs, *arguments))


def test_the_example_network() -> None:
    torch.manual_seed(0)
    theirs = DeeperGCN(num_layers=7).double().eval()
    arguments = (features(3), EDGES, features(2, rows=10))
    fast = accelerated(theirs)
    assert_close(outcome(fast, *arguments), outcome(theirs, *arguments))


def test_weights_stay_the_same_tensors_under_the_same_names() -> None:
    model = DeeperGCN()
    before = model.state_dict(keep_vars=True)
    assert deepergcn.accelerate(model) is model
    report = deepergcn.accelerated(model)
    after = model.state_dict(keep_vars=True)
    assert list(before) == list(after)
    assert all(before[name] is after[name] for name in before)
    assert report.fast == tuple(f"layers.{i}.conv{part}" for i in range(4) for part in ("", ".aggr_module"))
    assert report.left == {}
    assert str(report) == "8 modules on the fast path, 0 left to PyG"
    assert deepergcn.accelerated(deepergcn.accelerate(model)) == report
    DeeperGCN().load_state_dict(model.state_dict())


@pytest.mark.parametrize(
    "theirs",
    [
        pyg.SoftmaxAggregation(t=0.3, learn=True),
        pyg.SoftmaxAggregation(t=0.3, semi_grad=True),
        pyg.SoftmaxAggregation(t=0.3, learn=True, channels=8),
        pyg.PowerMeanAggregation(p=2.0, learn=True),
        pyg.PowerMeanAggregation(p=1.0),
        pyg.SumAggregation(),
        pyg.MeanAggregation(),
        pyg.MaxAggregation(),
        pyg.MinAggregation(),
    ],
    ids=str,
)
def test_aggregations(theirs: Any) -> None:
    theirs = theirs.double()
    fast = accelerated(theirs)
    x = features(8, rows=10)
    index = torch.tensor([0, 0, 1, 3, 3, 3, 2, 2, 1, 0])
    assert_close(outcome(fast, x, index), outcome(theirs, x, index))
    assert_close(fast(x, index, dim_size=6), theirs(x, index, dim_size=6))
    assert_close(fast(x, ptr=torch.tensor([0, 4, 4, 10])), theirs(x, ptr=torch.tensor([0, 4, 4, 10])))
    assert_close(fast(x), theirs(x))
    if getattr(theirs, "channels", 1) == 1:
        assert_close(fast(x[None], index), theirs(x[None], index))


@pytest.mark.parametrize("aggr", ["softmax", "powermean", "sum", "mean", "max", ["mean", "max"]])
def test_aggregations_inside_other_convolutions(aggr: Any) -> None:
    torch.manual_seed(0)
    theirs = pyg.SAGEConv(8, 8, aggr=aggr).double()
    assert_close(outcome(accelerated(theirs), features(8), EDGES), outcome(theirs, features(8), EDGES))


def test_bipartite_graphs_and_missing_targets() -> None:
    theirs = conv(learn_t=True)
    fast = accelerated(theirs)
    edge_index = torch.tensor([[0, 1, 6], [0, 2, 2]])
    source, target = features(8), features(8, rows=3)
    assert_close(fast((source, target), edge_index), theirs((source, target), edge_index))
    assert_close(fast((source, None), edge_index, size=(7, 3)), theirs((source, None), edge_index, size=(7, 3)))
    assert_close(fast((source, None), edge_index), theirs((source, None), edge_index))
    with pytest.raises(ValueError, match="expected size 5"):
        fast((source, target), edge_index, size=(7, 5))


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_sparse_graphs(layout: torch.layout) -> None:
    edge_index = EDGES[:, EDGES[1].argsort(stable=True)].flip(0)
    size = (7, 7)
    adj_t = torch.sparse_coo_tensor(edge_index, torch.ones(10).double(), size, check_invariants=True).coalesce()
    if layout == torch.sparse_csr:
        with warnings.catch_warnings(action="ignore"):  # torch says once a process that CSR is in beta
            adj_t = adj_t.to_sparse_csr()
    theirs = conv()
    assert_close(accelerated(theirs)(features(8), adj_t), theirs(features(8), adj_t))


def test_one_adjacency_for_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    build = Adjacency.from_edge_index

    def counting(*args: Any) -> Adjacency:
        built.append(1)
        return build(*args)

    monkeypatch.setattr(Adjacency, "from_edge_index", counting)
    model = accelerated(DeeperGCN(num_layers=6).double())
    model(features(3), EDGES.clone(), features(2, rows=10))
    assert built == [1]


def test_no_message_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = accelerated(conv(edge_dim=3))
    monkeypatch.setattr(FastGENConv, "message", None)
    assert fast(features(8), EDGES, features(3, rows=10)).shape == (7, 8)


def test_hooks_and_explanations_go_pygs_way() -> None:
    theirs = conv()
    fast = accelerated(theirs)
    seen: list[int] = []
    fast.register_message_forward_hook(lambda module, inputs, out: seen.append(len(out)))
    assert_close(fast(features(8), EDGES), theirs(features(8), EDGES))
    assert seen == [10]

    explained = accelerated(theirs)
    explained.explain = True
    explained._edge_mask = torch.full((10,), -50.0, dtype=torch.float64)
    explained._loop_mask = torch.ones(10, dtype=torch.bool)
    explained._apply_sigmoid = True
    assert not torch.allclose(explained(features(8), EDGES), theirs(features(8), EDGES))


def test_a_learned_power_of_zero_goes_pygs_way() -> None:
    theirs = pyg.PowerMeanAggregation(p=0.0, learn=True)
    x, index = torch.tensor([[0.5], [2.0]]), torch.tensor([0, 0])
    assert_close(accelerated(theirs)(x, index), theirs(x, index))


def test_an_accelerated_model_can_be_copied_and_trained() -> None:
    cls: Any = FastGENConv
    model: Any = copy.deepcopy(accelerated(conv()))
    assert type(model) is cls
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = model.mlp[0].weight.detach().clone()
    model(features(8), EDGES).sum().backward()
    optimizer.step()
    assert not torch.equal(model.mlp[0].weight, before)


class Louder(pyg.GENConv):
    def message(self, x_j: Tensor, edge_attr: OptTensor) -> Tensor:
        return 2 * x_j


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Louder(8, 8, aggr="median"), "Louder may compute something else than the class it extends"),
        (pyg.GENConv(8, 8, aggr="median"), "its aggregation: MedianAggregation is not one of"),
        (pyg.GENConv(8, 8, flow="target_to_source"), "its messages run against the edges"),
        (pyg.PowerMeanAggregation(p=2.0, clamp_min=None), "its power mean takes messages that are not positive"),
        (pyg.GENConv(8, 8, aggr="powermean", aggr_kwargs={"clamp_min": -1.0}), "its power mean takes messages"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_left_alone_is_said(module: Any, reason: str) -> None:
    before, name = type(module), type(module).__name__
    report = deepergcn.accelerated(deepergcn.accelerate(module))
    assert type(module) is before
    assert re.search(reason, report.left[name])
    assert f"{name}: left to PyG, {report.left[name]}" in str(report)


def test_importing_the_package_stays_light() -> None:
    code = "import sys, deepergcn; assert 'torch' not in sys.modules; assert 'accelerate' in dir(deepergcn)"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
    with pytest.raises(AttributeError, match="module 'deepergcn' has no attribute 'speed_up'"):
        _ = deepergcn.speed_up


@pytest.mark.parametrize("theirs", [pyg.MaxAggregation(), pyg.MinAggregation()])
def test_difference_an_extremum_of_zero_is_shared_by_its_messages_alone(theirs: nn.Module) -> None:
    index, gradients = torch.zeros(4, dtype=torch.int64), []
    for module in (theirs, deepergcn.accelerate(copy.deepcopy(theirs))):
        x = torch.zeros(4, 1, requires_grad=True)
        module(x, index, None, 1).sum().backward()
        gradients.append(x.grad)
    assert_close(gradients, [torch.full((4, 1), 1 / 5), torch.full((4, 1), 1 / 4)])


def test_difference_edge_features_as_wide_as_the_messages_are_needed_until_backward() -> None:
    theirs = conv(edge_dim=8)
    fast = accelerated(theirs)
    for module, copied, fails in ((theirs, False, False), (fast, False, True), (fast, True, False)):
        edge_attr = features(8, rows=10)
        out = module(features(8).requires_grad_(), EDGES, edge_attr.clone() if copied else edge_attr)
        edge_attr.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") if fails else nullcontext():
            out.sum().backward()
