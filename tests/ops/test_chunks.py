"""Kernels in many chunks: right, with the same bits in any order and on threads, also where memory is asked ahead."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import torch

from deepergcn import ops
from deepergcn.ops.kernels.cpu.machine import jit
from tests.ops.test_fast import assert_as_exact, gradients, wide_case

FUNCTIONS: list[tuple[str, str | None, float]] = [
    ("softmax", "beta", 1.0),
    ("softmax", "beta", 50.0),
    ("power_mean", "p", 2.0),
    ("max", None, 0.0),
    ("sum", None, 0.0),
]
EDGES = (None, "affine", "few features", "table")


@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize(("function", "name", "value"), FUNCTIONS)
def test_many_chunks(function: str, name: str | None, value: float, kind: str | None) -> None:
    assert_as_exact(ops, function, wide_case(96, 12_000, kind=kind), name, value)


@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize(("function", "name", "value"), FUNCTIONS)
def test_a_graph_that_is_too_large_for_the_caches(
    function: str, name: str | None, value: float, kind: str | None
) -> None:
    case = wide_case(16, 6_000, nodes=1 << 17, kind=kind, hub=60)
    assert case.x.numel() + 8 * case.edge_index.shape[1] > 1 << 21  # rows are asked for ahead from there on
    assert_as_exact(ops, function, case, name, value)


def backwards(one_chunk: Callable[..., None], chunks: int, arguments: tuple[Any, ...]) -> None:
    for chunk in reversed(range(chunks)):
        one_chunk(chunk, chunks, *arguments)


def on_threads(one_chunk: Callable[..., None], chunks: int, arguments: tuple[Any, ...]) -> None:
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda chunk: one_chunk(chunk, chunks, *arguments), range(chunks)))


@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize(("function", "name", "value"), FUNCTIONS)
def test_same_bits_whatever_the_order_of_chunks_and_on_threads(
    function: str, name: str | None, value: float, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks that wrote to the same place, or read what others write, would not bear another order, nor threads."""
    case = wide_case(96, 12_000, kind=kind)
    weight = torch.randn(900, 96)
    parameter = None if name is None else torch.tensor(value)
    results = [gradients(getattr(ops, function), case, name, parameter, weight)]
    most = 0

    def counted(run: Callable[..., None], one_chunk: Callable[..., None], chunks: int, arguments: Any) -> None:
        nonlocal most
        most = max(most, chunks)
        run(one_chunk, chunks, arguments)

    for run in (backwards, on_threads):
        monkeypatch.setattr(jit, "one_after_another", partial(counted, run))
        results.append(gradients(getattr(ops, function), case, name, parameter, weight))
    assert most > 1
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize(("function", "name", "value"), FUNCTIONS)
def test_same_bits_over_runs_and_threads(function: str, name: str | None, value: float, kind: str | None) -> None:
    case = wide_case(96, 12_000, kind=kind)
    weight = torch.randn(900, 96)
    parameter = None if name is None else torch.tensor(value)
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 2, 1):
            torch.set_num_threads(count)
            results.append(gradients(getattr(ops, function), case, name, parameter, weight))
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_a_kernel_leaves_the_number_of_threads_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's first parallel region in a process gives OpenMP, and so torch, every processor."""
    calls: list[int] = []

    def first_region(address: int, chunks: int) -> None:
        calls.append(chunks)
        torch.set_num_threads(3)

    monkeypatch.setattr(jit, "_in_parallel", first_region)
    case = wide_case(96, 12_000)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        ops.max(case.x, case.adjacency)
        assert calls
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
