"""Segments of recomputed layers: those chosen fit, and no others that fit recompute fewer layers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepergcn.training.cost.budget import Kept, choose_segments, peak, smallest_peak


def by_definition(layers: int, segments: tuple[int, ...], kept: Kept) -> float:
    """The peak of a step, layer by layer: what is kept when the gradients of each segment are computed."""
    inputs, rest = len(segments) * kept.input, (layers - sum(segments)) * kept.layer
    peaks = [inputs + rest]
    for number, length in reversed(list(enumerate(segments, start=1))):
        peaks.append(number * kept.input + length * kept.layer)
    return max(peaks)


@given(st.integers(1, 30), st.integers(1, 50), st.integers(1, 60), st.integers(0, 2000))
def test_the_fewest_layers_that_fit(layers: int, a: int, d: int, room: int) -> None:
    kept = Kept(a, d)
    candidates = [(n, length) for length in range(1, layers + 1) for n in range(0, layers + 1, length)]
    fitting = [n for n, length in candidates if peak(layers, n, length, kept) <= room]
    segments = choose_segments(layers, kept, room)
    if segments is None:
        assert not fitting
        assert smallest_peak(layers, kept) > room
        return
    assert sum(segments) == min(fitting)
    assert by_definition(layers, segments, kept) <= room


def test_the_smallest_peak_is_reached() -> None:
    kept = Kept(layer=10, input=1)
    least = smallest_peak(100, kept)
    assert least == 33 * 1 + 3 * 10  # segments of sqrt(100 * 1 / 10), which is about 3
    assert choose_segments(100, kept, least) is not None
    assert choose_segments(100, kept, least - 1) is None


@pytest.mark.parametrize(("room", "recomputed"), [(1000, 0), (991, 1), (550, 46), (63, 99)])
def test_a_larger_budget_recomputes_less(room: int, recomputed: int) -> None:
    segments = choose_segments(100, Kept(layer=10, input=1), room)
    assert segments is not None
    assert sum(segments) == recomputed
