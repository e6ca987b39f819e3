"""Which layers to recompute in backward, so that a network fits in a memory budget at the least cost in time.

The first layers are recomputed in segments, of each of which the input alone is kept; the last layers keep all that
backward needs. Where a layer keeps a bytes and its input has d, j segments of k_1, ..., k_j layers and r layers after
them have a peak of

    max(j d + r a,  i d + k_i a for i = 1, ..., j),

since backward goes from the last layer to the first, and is done with all that comes after a segment before that
segment is computed again. The later a segment, the more inputs lie before it, and the shorter it has to be. Each
recomputed layer costs one more forward, however long its segment: the fewest layers that fit are chosen.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Kept(NamedTuple):
    """The bytes that a layer keeps for backward, and those of its input."""

    layer: float
    input: float


def peak(layers: int, segments: Sequence[int], kept: Kept) -> float:
    """The bytes of activations at the peak of a step that recomputes these segments."""
    after = len(segments) * kept.input + (layers - sum(segments)) * kept.layer
    return max(after, *(i * kept.input + length * kept.layer for i, length in enumerate(segments, start=1)), 0)


def choose_segments(layers: int, kept: Kept, room: float) -> tuple[int, ...] | None:
    """The lengths of the segments to recompute, the fewest layers in all; None where nothing fits in ``room`` bytes."""
    if layers * kept.layer <= room:
        return ()
    segments: list[int] = []
    before = 0
    for number in range(1, layers + 1):
        longest = int((room - number * kept.input) // kept.layer)  # of this segment, and of what comes after it
        if longest < 1:
            return None
        if layers - before <= 2 * longest:
            return (*segments, layers - before - longest)
        segments.append(longest)
        before += longest
    return None


def smallest_peak(layers: int, kept: Kept) -> float:
    """The least bytes of activations that any choice of segments takes, from above to a millionth of one."""
    too_little, enough = 0.0, layers * kept.layer
    while enough - too_little > 1e-6 * max(enough, 1):
        middle = (too_little + enough) / 2
        if choose_segments(layers, kept, middle) is None:
            too_little = middle
        else:
            enough = middle
    return enough
