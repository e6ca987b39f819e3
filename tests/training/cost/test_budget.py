"""Segments of recomputed layers: those chosen fit, and no others that fit recompute fewer layers."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepergcn.training.cost.budget import Kept, choose_segments, peak, smallest_peak


def by_definition(layers: int, segments: tuple[int, ...], kept: Kept) -> float:
    """The peak of a step, layer by layer: what is held while backward goes from the last layer to the first."""
    held = len(segments) * kept.input + (layers - sum(segments)) * kept.layer
    highest = held
    held = len(segments) * kept.input
    for length in reversed(segments):
        for left in range(length, 0, -1):
            highest = max(highest, held + left * kept.layer)
        held -= kept.input
    return highest


def all_segments(layers: int) -> Iterator[tuple[int, ...]]:
    """Every choice of segments, from the first layer on."""
    yield ()
    for first in range(1, layers + 1):
        for rest in all_segments(layers - first):
            yield (first, *rest)


@given(st.integers(1, 8), st.integers(1, 50), st.integers(1, 60), st.integers(0, 500))
def test_the_fewest_layers_that_fit(layers: int, a: int, d: int, room: int) -> None:
    kept = Kept(a, d)
    every = list(all_segments(layers))
    assert [peak(layers, segments, kept) for segments in every] == [by_definition(layers, s, kept) for s in every]
    fitting = [sum(segments) for segments in every if peak(layers, segments, kept) <= room]
    chosen = choose_segments(layers, kept, room)
    if chosen is None:
        assert not fitting
        assert smallest_peak(layers, kept) > room
        return
    assert sum(chosen) == min(fitting)
    assert peak(layers, chosen, kept) <= room


@given(st.integers(1, 8), st.integers(1, 50), st.integers(1, 60))
def test_the_smallest_peak_is_that_of_the_best_choice(layers: int, a: int, d: int) -> None:
    kept = Kept(a, d)
    least = min(peak(layers, segments, kept) for segments in all_segments(layers))
    assert smallest_peak(layers, kept) == pytest.approx(least, rel=1e-5)


def test_later_segments_are_shorter() -> None:
    kept = Kept(layer=10, input=1)
    segments = choose_segments(100, kept, 52)
    assert segments == (5, 5, *(4,) * 10, *(3,) * 10, *(2,) * 9)
    assert peak(100, segments, kept) == 52  # where segments of one length take at least 63
    assert choose_segments(100, kept, 40) is None


@pytest.mark.parametrize(("room", "recomputed"), [(1000, 0), (991, 1), (550, 46), (63, 96)])
def test_a_larger_budget_recomputes_less(room: int, recomputed: int) -> None:
    segments = choose_segments(100, Kept(layer=10, input=1), room)
    assert segments is not None
    assert sum(segments) == recomputed
