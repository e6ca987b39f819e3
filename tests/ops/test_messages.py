"""Softmax of a fixed beta on graphs beyond the cache, which are read message by message; here with small graphs."""

import sys
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepergcn import ops
from deepergcn.ops.kernels.cpu import softmax_messages
from deepergcn.ops.plain import SPREAD
from tests.bounds import gamma
from tests.ops.graphs import Case, cases
from tests.ops.test_fast import assert_as_exact

SOFTMAX = sys.modules["deepergcn.ops.softmax"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of channels of every call of the kernel, which every graph is large enough for."""
    channels: list[int] = []
    run = softmax_messages.forward

    def counted(chunks: int, *arguments: Any) -> None:
        channels.append(arguments[2].shape[1])
        run(chunks, *arguments)

    monkeypatch.setattr(softmax_messages, "forward", counted)
    monkeypatch.setattr(SOFTMAX, "_BEYOND_CACHE", 0)
    return channels


def widened(case: Case, channels: int) -> Case:
    """The same graph with at least this number of channels."""
    return replace(case, x=torch.cat([case.x * (1 + 0.1 * k) for k in range(-(-channels // case.channels))], dim=1))


@given(
    case=cases(edges=(None,), max_edges=120, max_channels=70, scales=(0.1, 1.0)),
    beta=st.sampled_from([0.0, 0.1, 1.0, -7.0, 20.0]),
    eps=st.sampled_from([1e-7, 0.1]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_values_and_gradients(case: Case, beta: float, eps: float, calls: list[int]) -> None:
    case = widened(case, 16)
    before = len(calls)
    ops.softmax(case.x.float(), case.adjacency, beta=beta, eps=eps)
    largest = float(case.x.abs().max()) + 10
    assert_as_exact(ops, "softmax", case, value=beta * largest, beta=beta, eps=eps)
    spread = abs(beta) * float((case.x.amax(0).relu() - case.x.amin(0).relu()).max())
    assert len(calls) - before == (2 if spread < SPREAD else 0)


@pytest.mark.parametrize(
    ("channels", "beta", "dtype", "learned"),
    [
        (15, 0.1, torch.float32, False),
        (16, 41.0, torch.float32, False),
        (16, 0.1, torch.float64, False),
        (16, 0.1, torch.float32, True),
    ],
)
def test_it_steps_aside(channels: int, beta: float, dtype: torch.dtype, learned: bool, calls: list[int]) -> None:
    x = torch.linspace(0, 1, 4, dtype=dtype)[:, None].expand(4, channels)
    adjacency = ops.Adjacency.from_edge_index(torch.tensor([[0, 1, 2], [3, 3, 3]]), 4)
    ops.softmax(x, adjacency, beta=torch.tensor(beta, dtype=dtype, requires_grad=learned))
    assert not calls


def test_a_hub_of_many_segments_and_any_number_of_threads(calls: list[int]) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(500, 40, generator=generator)
    source = torch.randint(500, (20_000,), generator=generator)
    target = torch.randint(500, (20_000,), generator=generator)
    target[:2000] = 7
    adjacency = ops.Adjacency.from_edge_index(torch.stack([source, target]), 500)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(ops.softmax(x, adjacency, beta=0.3))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)
    assert calls == [40, 40]
    exact = ops.reference.softmax(x.double(), adjacency, beta=0.3)
    terms = 32 + 2100 // 32  # of a segment, and the segments of the hub
    assert float((found[0] - exact).abs().max()) <= 2 * gamma(terms, torch.float32) * float(x.max())
