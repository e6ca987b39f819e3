"""Pairs of nodes without a direction, as sorted numbers that are found quickly."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def pair_keys(pairs: npt.NDArray[np.integer], nodes: int) -> Ints:
    """int64 [pairs], one number for each of the pairs [2, pairs] of ``nodes`` nodes: u, v and v, u have the same."""
    low, high = np.minimum(pairs[0], pairs[1]).astype(np.int64), np.maximum(pairs[0], pairs[1]).astype(np.int64)
    keys: Ints = low * nodes + high
    return keys


def pairs_of(keys: Ints, nodes: int) -> Ints:
    """The pairs [2, pairs] with these keys."""
    return np.stack((keys // nodes, keys % nodes))


def is_in(keys: Ints, known: Ints) -> Bools:
    """Which keys are among the ``known`` ones, which are sorted."""
    if not len(known):
        return np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Bools = known[place] == keys
    return found


def with_keys(sorted_keys: Ints, order: Ints, wanted: Ints) -> Ints:
    """The numbers of all pairs that have one of the ``wanted`` keys, each of which stands there once.

    Args:
        sorted_keys: The keys of the pairs in rising order.
        order: The number of the pair at each place.
        wanted: The keys to find.
    """
    first = np.searchsorted(sorted_keys, wanted, side="left")
    count = np.searchsorted(sorted_keys, wanted, side="right") - first
    start = np.repeat(first - np.concatenate(([0], np.cumsum(count)[:-1])), count) if len(wanted) else first
    found: Ints = order[start + np.arange(int(count.sum()))]
    return found
