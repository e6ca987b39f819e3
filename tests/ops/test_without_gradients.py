"""Aggregations of predictions: the results are the same, and nothing is made for a backward."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deepergcn import ops
from deepergcn.ops import Adjacency, Table, reference
from deepergcn.ops.kernels.cpu import softmax_alone
from deepergcn.ops.norm_relu_dropout import norm_relu_and_sums
from deepergcn.ops.path import forward_only
from deepergcn.ops.softmax import run_alone
from tests.bounds import gamma
from tests.ops.graphs import Case, cases, leaf

BETAS = (0.0, 1.0, -3.0, 0.01, 100.0, -1e4)


@given(case=cases(edges=("table",), max_channels=70, scales=(0.1, 3.0)), beta=st.sampled_from(BETAS))
@settings(max_examples=60, deadline=None)
def test_softmax_is_as_exact_as_its_definition(case: Case, beta: float) -> None:
    single = case.to(torch.float32)
    exact = single.to(torch.float64)
    truth = reference.softmax(exact.x, exact.adjacency, exact.edge, beta=beta)
    plainly = reference.softmax(single.x, single.adjacency, single.edge, beta=beta)
    with torch.no_grad(), forward_only():
        ours = ops.softmax(single.x, single.adjacency, single.edge, beta=beta)
    assert ours.dtype == torch.float32
    error, allowed = (float((t - truth).abs().amax()) for t in (ours, plainly))
    condition = 4 * (1 + abs(beta) * (float(exact.x.abs().max()) + 10))
    units = torch.finfo(torch.float32).eps * condition + gamma(case.edge_index.shape[1] + 1, torch.float32)
    assert error <= 2 * allowed + units * float(truth.abs().amax()) + 1e-30


@pytest.mark.parametrize("function", ["softmax", "power_mean", "sum", "mean", "max", "min"])
@given(case=cases(edges=(None,)))
@settings(max_examples=5, deadline=None)
def test_the_other_kernels_give_the_same_bits(function: str, case: Case) -> None:
    single = case.to(torch.float32)
    kept = getattr(ops, function)(leaf(single.x), single.adjacency, single.edge)
    with torch.no_grad(), forward_only():
        alone = getattr(ops, function)(leaf(single.x), single.adjacency, single.edge)
    assert not alone.requires_grad
    assert torch.equal(kept.detach(), alone)


@pytest.mark.parametrize("degree", range(7))
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_what_is_not_finite_is_not_hidden(degree: int, bad: float) -> None:
    x = torch.rand(max(degree, 1), 3)
    x[-1, 1] = bad
    adjacency = Adjacency.from_edge_index(torch.stack((torch.arange(degree), torch.zeros(degree).long())), len(x))
    with torch.no_grad(), forward_only():
        out = ops.softmax(x, adjacency, Table(torch.zeros(degree).int(), torch.rand(2, 3)))
    assert out[:, 0].isfinite().all()
    assert bool(out[0, 1].isfinite()) == (degree == 0)


def test_chunks_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    x, table = torch.randn(50, 20), torch.randn(4, 20)
    edge_index = torch.randint(50, (2, 160))
    adjacency = Adjacency.from_edge_index(edge_index, 50)
    graph = [t.numpy() for t in (adjacency.rowptr, adjacency.source, adjacency.edge)]
    codes, ones, eps = torch.randint(4, (160,)).int().numpy(), torch.ones(20).numpy(), x.numpy().dtype.type(1e-7)
    told, graphs = torch.randn(3, 20).numpy(), (torch.arange(50) // 20).numpy()
    outs = [torch.empty(50, 20) for _ in range(2)]
    for chunks, out in zip((1, 7), outs, strict=True):
        terms = (codes, table.numpy(), told, graphs, True)
        softmax_alone.forward(chunks, *graph, x.numpy(), *terms, eps * 0, eps, ones, 2 * ones, out.numpy())
    assert torch.equal(*outs)


@given(case=cases(edges=("table",), max_channels=40))
@settings(max_examples=30, deadline=None)
def test_a_row_of_every_graph_and_the_vertex_itself_are_added(case: Case) -> None:
    single = case.to(torch.float32)
    adjacency, edge = single.adjacency, single.edge
    assert isinstance(edge, Table)
    nodes, channels = single.x.shape
    told, graphs = torch.randn(3, channels), torch.randint(3, (nodes,))
    beta = torch.full((channels,), 0.5)
    index = [adjacency.rowptr, adjacency.source, adjacency.edge, adjacency.rowptr_t]
    itself = adjacency.num_targets == nodes
    ours = run_alone(single.x, beta, index, list(edge), 1e-7, told, graphs, own=itself)
    h = single.x + told[graphs]
    expected = reference.softmax(h, adjacency, edge, beta=0.5) + (h if itself else 0)
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("relu", [True, False])
def test_normalized_rows_are_added_up_in_every_graph(relu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x, mean, scale, shift = torch.randn(30, 20), torch.randn(20), torch.rand(20), torch.randn(20)
    ptr = torch.tensor([0, 0, 4, 5, 29, 30, 30])
    x[7, 3] = torch.nan
    expected = (x - mean) * scale + shift
    expected = expected.relu() if relu else expected
    sums = torch.stack([part.sum(0) for part in expected.split(ptr.diff().tolist())])
    rows = (mean.numpy(), scale.numpy(), shift.numpy())
    for threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        out, totals = norm_relu_and_sums(x, *rows, ptr, relu=relu)
        torch.testing.assert_close(out, expected, equal_nan=True)
        torch.testing.assert_close(totals, sums, equal_nan=True)
    alone, none = norm_relu_and_sums(x, *rows, ptr, relu=relu, sums=False)
    assert torch.equal(alone.nan_to_num(9), out.nan_to_num(9))
    assert none.shape == (0, 20)
