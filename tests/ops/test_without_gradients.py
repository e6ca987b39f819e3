"""Aggregations of predictions: the results are the same, and nothing is made for a backward."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deepergcn import ops
from deepergcn.ops import Adjacency, Table, reference
from deepergcn.ops.kernels.cpu import softmax_alone
from deepergcn.ops.path import forward_only
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
    outs = [torch.empty(50, 20) for _ in range(2)]
    for chunks, out in zip((1, 7), outs, strict=True):
        softmax_alone.forward(
            chunks, *graph, x.numpy(), codes, table.numpy(), eps * 0, eps, ones, 2 * ones, out.numpy()
        )
    assert torch.equal(*outs)
