"""Which layers to recompute in backward, so that a network fits in a memory budget at the least cost in time.

Of L layers the first n are recomputed in j segments of k layers, of each of which the input alone is kept; the last
L - n keep all that backward needs. Where a layer keeps a bytes and its input has d, backward peaks at

    j d + max((L - n) a, k a),    n = j k,

since the kept layers are done with before the first segment is computed again. Each recomputed layer costs one more
forward: the fewest that fit are chosen. The least memory of all is that of nearly all layers with k near sqrt(L d / a).
"""

from typing import NamedTuple


class Kept(NamedTuple):
    """The bytes that a layer keeps for backward, and those of its input."""

    layer: float
    input: float


def peak(layers: int, recomputed: int, length: int, kept: Kept) -> float:
    """The bytes of activations at the peak of a step, with ``recomputed`` layers in segments of ``length``."""
    if not recomputed:
        return layers * kept.layer
    return recomputed // length * kept.input + max(layers - recomputed, length) * kept.layer


def choose_segments(layers: int, kept: Kept, room: float) -> tuple[int, ...] | None:
    """The lengths of the segments to recompute, the fewest layers in all; None where nothing fits in ``room`` bytes."""
    if layers * kept.layer <= room:
        return ()
    best: tuple[int, float, int] | None = None
    for length in range(1, layers + 1):
        recomputed = _fewest(layers, length, kept, room)
        if recomputed is not None:
            found = recomputed, peak(layers, recomputed, length, kept), length
            best = found if best is None else min(best, found)
    if best is None:
        return None
    recomputed, _, length = best
    return (length,) * (recomputed // length)


def smallest_peak(layers: int, kept: Kept) -> float:
    """The least bytes of activations that any choice of segments takes."""
    return min(peak(layers, _most(layers, length) * length, length, kept) for length in range(1, layers + 1))


def _most(layers: int, length: int) -> int:
    """The number of segments beyond which more save nothing: the layers after them keep as much as one segment."""
    return -(-(layers - length) // length)


def _fewest(layers: int, length: int, kept: Kept, room: float) -> int | None:
    """The fewest layers in segments of one length that fit."""
    gain = length * kept.layer - kept.input
    if gain <= 0:
        return None
    segments = max(int((layers * kept.layer - room) / gain), 1)
    for count in (segments, segments + 1):  # the first may be one too few
        if count <= _most(layers, length) and peak(layers, count * length, length, kept) <= room:
            return count * length
    return None
