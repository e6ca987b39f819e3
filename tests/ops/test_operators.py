"""The operators as PyTorch sees them: opcheck, torch.compile, autocast, checkpointing, threads."""

import threading
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from deepergcn import ops
from deepergcn.nn import DyResGEN
from deepergcn.ops import edge_order, norm_relu_dropout

CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def edge_tensors(kind: str, num_edges: int, channels: int) -> list[Tensor]:
    match kind:
        case "dense":
            return [torch.randn(num_edges, channels, requires_grad=True)]
        case "table":
            return [torch.randint(3, (num_edges,)), torch.randn(3, channels, requires_grad=True)]
        case "affine":
            weight, bias = torch.randn(channels, 2), torch.randn(channels)
            return [torch.rand(num_edges, 2), weight.requires_grad_(), bias.requires_grad_()]
    return []


@pytest.mark.parametrize("kind", ["none", "dense", "table", "affine"])
@pytest.mark.parametrize("name", ["softmax", "power_mean", "extremum", "sum_mean"])
def test_opcheck_of_aggregations(name: str, kind: str) -> None:
    torch.manual_seed(0)
    adjacency = ops.Adjacency.from_edge_index(torch.randint(6, (2, 15)), 6)
    graph = [getattr(adjacency, name) for name in ("rowptr", "source", "edge", "rowptr_t", "target", "edge_t")]
    x = torch.randn(6, 4, requires_grad=True)
    parameter = torch.full((4,), 1.5, requires_grad=True)
    for option in (0, 1):
        arguments = (x, parameter, graph, edge_tensors(kind, 15, 4), 1e-7, option)
        torch.library.opcheck(getattr(torch.ops.deepergcn, name).default, arguments, test_utils=CHECKS)


@pytest.mark.parametrize("statistics", ["none", "row", "batch", "given"])
def test_opcheck_of_activation(statistics: str) -> None:
    x = torch.randn(6, 4, requires_grad=True)
    weight, bias = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    arguments = (x, weight, bias, torch.zeros(4), torch.ones(4), torch.tensor(7), statistics, 1e-5, True, 0.25)
    torch.library.opcheck(norm_relu_dropout._operator, arguments, test_utils=CHECKS)


def test_opcheck_of_the_structure() -> None:
    torch.library.opcheck(edge_order.operator, (torch.randint(6, (2, 15)), 6, 6))


def small_network(**options: Any) -> tuple[torch.nn.Module, tuple[Tensor, ops.Adjacency, Tensor]]:
    torch.manual_seed(0)
    model = DyResGEN(
        5, 2, hidden_channels=8, num_layers=3, edge_encoder=3, layer_edge_encoder=8, dropout=0.0, **options
    )
    adjacency = ops.Adjacency.from_edge_index(torch.randint(12, (2, 40)), 12)
    return model, (torch.randn(12, 5), adjacency, torch.rand(40, 3))


@pytest.mark.parametrize("aggr", ["softmax", "power_mean"])
def test_a_compiled_network_is_one_graph_with_the_same_result(aggr: str) -> None:
    model, inputs = small_network(aggr=aggr)
    expected = model(*inputs)
    grads = torch.autograd.grad(expected.square().sum(), list(model.parameters()))
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    out = compiled(*inputs)
    torch.testing.assert_close(out, expected)
    for ours, plain in zip(torch.autograd.grad(out.square().sum(), list(model.parameters())), grads, strict=True):
        torch.testing.assert_close(ours, plain)


def test_a_compiled_convolution_takes_a_bare_edge_index() -> None:
    x, edge_index = torch.randn(12, 5), torch.randint(12, (2, 40))

    def aggregate(x: Tensor, edge_index: Tensor) -> Tensor:
        return ops.softmax(x, ops.Adjacency.from_edge_index(edge_index, 12), beta=2.0)

    torch._dynamo.reset()
    compiled = torch.compile(aggregate, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, edge_index), aggregate(x, edge_index))


def test_recomputed_activations_give_the_same_gradients() -> None:
    adjacency = ops.Adjacency.from_edge_index(torch.randint(12, (2, 40)), 12)
    x = torch.randn(12, 8, requires_grad=True)

    def layer(x: Tensor) -> Tensor:
        hidden = norm_relu_dropout.norm_relu_dropout(x, "row", dropout=0.5)[0]
        return ops.softmax(hidden, adjacency)

    grads = []
    for recompute in (False, True):
        torch.manual_seed(3)
        out = checkpoint(layer, x, use_reentrant=False) if recompute else layer(x)
        grads.append(torch.autograd.grad(out.square().sum(), x)[0])
    assert torch.equal(*grads)


def test_several_threads_at_once() -> None:
    generator = torch.Generator().manual_seed(0)
    adjacency = ops.Adjacency.from_edge_index(torch.randint(900, (2, 12_000), generator=generator), 900)
    x = torch.randn(900, 96, generator=generator)
    expected = ops.softmax(x, adjacency)
    found: list[Tensor] = []

    def work() -> None:
        found.extend(ops.softmax(x, adjacency) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 15
    assert all(torch.equal(out, expected) for out in found)


def test_codes_beyond_the_table_are_refused() -> None:
    adjacency = ops.Adjacency.from_edge_index(torch.tensor([[0, 1], [1, 0]]), 2)
    edge = ops.Table(torch.tensor([0, 3]), torch.zeros(3, 4))
    with pytest.raises(ValueError, match=r"edge codes: expected 0 to 2.*got 0 to 3"):
        ops.softmax(torch.ones(2, 4), adjacency, edge)


def test_autocast_to_bfloat16_trains() -> None:
    torch.manual_seed(0)
    model = DyResGEN(5, 2, hidden_channels=16, num_layers=3, edge_encoder=3, layer_edge_encoder=16)
    adjacency = ops.Adjacency.from_edge_index(torch.randint(30, (2, 200)), 30)
    x, edge_attr, labels = torch.randn(30, 5), torch.rand(200, 3), torch.randint(2, (30,))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            out = model(x, adjacency, edge_attr)
            assert out.dtype == torch.bfloat16
            loss = torch.nn.functional.cross_entropy(out.float(), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert losses[-1] < losses[0] / 2, losses


@pytest.mark.parametrize("kind", ["none", "dense", "table", "affine"])
def test_tensors_stay_on_their_device_whatever_the_default_is(kind: str) -> None:
    """As after ``torch.set_default_device("cuda")``, for tensors that are not there."""
    adjacency = ops.Adjacency.from_edge_index(torch.randint(6, (2, 15)), 6)
    x = torch.randn(6, 4, requires_grad=True)
    edge = edge_tensors(kind, 15, 4)
    term: Any = {"none": lambda: None, "dense": ops.Dense, "table": ops.Table, "affine": ops.Affine}[kind]
    functions: list[Any] = [ops.softmax, ops.power_mean, ops.max, ops.mean]
    results = []
    for default in ("cpu", "meta"):
        torch.manual_seed(0)
        with torch.device(default):
            adjacency = ops.Adjacency.from_edge_index(adjacency.edge_index(), 6)
            out = x.new_zeros(())
            for function in functions:
                out = out + function(x, adjacency, term(*edge), y=0.5).sum()
            out = out + norm_relu_dropout.norm_relu_dropout(x, "batch", dropout=0.5)[0].square().sum()
            learned = [x, *(t for t in edge if t.requires_grad)]
            results.append([out.detach(), *torch.autograd.grad(out, learned)])
    assert all(map(torch.equal, *results))
