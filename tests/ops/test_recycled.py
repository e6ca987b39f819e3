"""Memory of large results is used again, never while anything shows it, and given back when nothing uses it."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from deepergcn import ops
from deepergcn.nn import ResGEN
from deepergcn.ops.kernels import recycled

LIKE = torch.zeros(0)
GENERATOR = torch.Generator().manual_seed(0)
EDGES = torch.randint(300, (2, 2000), generator=GENERATOR)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> recycled._Store:
    """A store of its own, in which every result is large."""
    fresh = recycled._Store()
    monkeypatch.setattr(recycled, "_store", fresh)
    monkeypatch.setattr(recycled, "LEAST", 1)
    return fresh


def test_the_next_result_of_the_size_takes_what_is_freed(store: recycled._Store) -> None:
    first = recycled.empty(LIKE, 8, 4)
    assert (first.shape, first.dtype, first.is_contiguous()) == ((8, 4), torch.float32, True)
    place = first.data_ptr()
    second = recycled.empty(LIKE, 8, 4)
    assert second.data_ptr() != place
    del first
    assert recycled.empty(LIKE, 8, 5).data_ptr() != place
    third = recycled.empty(LIKE.double(), 4, 4)  # as many bytes
    assert third.data_ptr() == place
    assert third.dtype == torch.float64


@pytest.mark.parametrize("show", [lambda t: t[2:3], lambda t: t.numpy()[2:3], lambda t: t.detach().view(-1)[8:12]])
def test_memory_that_anything_shows_is_not_used_again(show: object, store: recycled._Store) -> None:
    result = recycled.empty(LIKE, 8, 4)
    result.fill_(3)
    shown = show(result)  # type: ignore[operator]
    del result
    others = [recycled.empty(LIKE, 8, 4).zero_() for _ in range(3)]
    assert np.asarray(shown).ravel().tolist() == [3.0] * 4
    del shown
    assert sum(map(len, store.free.values())) == 1
    del others


def test_batches_of_other_sizes_take_no_more_than_they_need_at_once(store: recycled._Store) -> None:
    most = 0
    for size in (1000, 1200, 800, 1000, 1100, 3000, 900, 950):
        results = [recycled.empty(LIKE, size) for _ in range(3)]
        most = max(most, 3 * 4 * size)
        del results
        assert sum(size * len(blocks) for size, blocks in store.free.items()) <= most
    assert 4 * 950 in store.free


@pytest.mark.parametrize("when", ["the next result", "garbage is collected"])
def test_what_is_idle_is_given_back(when: str, store: recycled._Store, monkeypatch: pytest.MonkeyPatch) -> None:
    recycled.empty(LIKE, 1000)
    gc.collect(0)
    assert set(store.free) == {4000}
    monkeypatch.setattr(recycled, "_IDLE", 0)
    if when == "the next result":
        kept = recycled.empty(LIKE, 10)
        del kept
    gc.collect(0)
    assert not store.free


def test_release_gives_back_all_that_is_free_and_nothing_else(store: recycled._Store) -> None:
    kept = recycled.empty(LIKE, 10).fill_(1)
    recycled.empty(LIKE, 20)
    recycled.release()
    assert not store.free
    assert kept.tolist() == [1.0] * 10


def test_small_results_and_tensors_of_other_kinds_are_made_as_ever(store: recycled._Store) -> None:
    with FakeTensorMode():
        assert recycled.empty(torch.zeros(3), 8, 4).shape == (8, 4)
    assert recycled.empty(torch.zeros(3, dtype=torch.bfloat16), 8, 4).dtype == torch.bfloat16
    assert recycled.empty(torch.zeros(3, device="meta"), 8, 4).device.type == "meta"
    assert not recycled.fits(torch.zeros(8, 4).to_sparse(), 8, 4)
    recycled.LEAST = 1000
    recycled.empty(LIKE, 8, 4)
    assert not store.free


def trained(steps: int) -> list[Tensor]:
    torch.manual_seed(0)
    x, adjacency = torch.randn(300, 8), ops.Adjacency.from_edge_index(EDGES, 300)
    model = ResGEN(8, 3, hidden_channels=16, num_layers=4, norm="batch", dropout=0.3, beta=0.5, checkpoint=True)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        model(x, adjacency).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def test_training_has_the_same_bits(store: recycled._Store, monkeypatch: pytest.MonkeyPatch) -> None:
    again = trained(3)
    assert sum(map(len, store.free.values())) > 0
    monkeypatch.setattr(recycled, "LEAST", 1 << 40)
    assert all(map(torch.equal, again, trained(3)))


def test_threads_share_the_store(store: recycled._Store) -> None:
    adjacency = ops.Adjacency.from_edge_index(EDGES, 300)
    inputs = [torch.randn(300, 8, generator=GENERATOR) for _ in range(8)]
    expected = [ops.softmax(x, adjacency) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            found = list(pool.map(lambda x: ops.softmax(x, adjacency), inputs))
            assert all(map(torch.equal, found, expected))


def test_threads_take_and_leave_memory_at_once(store: recycled._Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recycled, "_IDLE", 1e-4)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(number: int) -> None:
        held: list[Tensor] = []
        for step in range(2000):
            held.append(recycled.empty(LIKE, 8 * (1 + (step + number) % 3)).fill_(number))
            if len(held) > (step * 7) % 5:
                assert all(bool((tensor == number).all()) for tensor in held)
                held.clear()

    try:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))
    finally:
        sys.setswitchinterval(interval)
