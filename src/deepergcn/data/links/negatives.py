"""Pairs of nodes that are no link: a fixed set to score against, and new ones in every step of training.

A draw of training is a function of the seed, the epoch and the number of the link that it is drawn for, and of nothing
else: neither the steps before it, nor the size of steps, nor the number of processes change it.
"""

import numpy as np
import numpy.typing as npt

from deepergcn.data.links.pairs import Ints, is_in, pair_keys, pairs_of
from deepergcn.data.seeds import derive
from deepergcn.data.storage.memory import check_memory
from deepergcn.errors import InputError

Words = npt.NDArray[np.uint64]

ATTEMPTS = 256
"""The number of pairs that are tried for one negative."""

_MOST_LISTED = 1 << 22  # pairs of nodes that are listed to choose from
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_WORD = 32


def draw_distinct(count: int, nodes: int, known: Ints, seed: int, *names: str | int) -> Ints:
    """``count`` different pairs [2, count] of different nodes, uniformly from those that are not known.

    Args:
        count: The number of pairs.
        nodes: The number of nodes.
        known: The keys of the pairs that are not drawn, sorted and each once; see :func:`pair_keys`.
        seed: The seed, and the ``names`` of what is drawn.
    """
    low, high = known // max(nodes, 1), known % max(nodes, 1)
    free = nodes * (nodes - 1) // 2 - int((low != high).sum())
    if free < count:
        raise InputError(f"scoring needs {count} pairs of nodes without a link; there are {free}")
    rng = np.random.default_rng(derive(seed, *names))
    every_pair = nodes * (nodes - 1) // 2
    if every_pair <= _MOST_LISTED or 2 * count > free:
        check_memory(40 * every_pair, f"all pairs of {nodes} nodes, nearly all of which are linked")
        every = np.stack(np.triu_indices(nodes, 1)).astype(np.int64)
        keys = pair_keys(every, nodes)
        chosen: Ints = rng.permutation(keys[~is_in(keys, known)])[:count]
    else:
        chosen = np.empty(0, dtype=np.int64)
        while len(chosen) < count:
            pairs = rng.integers(0, nodes, (2, 2 * (count - len(chosen)) + 16))
            keys = pair_keys(pairs[:, pairs[0] != pairs[1]], nodes)
            keys = np.concatenate((chosen, keys[~is_in(keys, known)]))
            chosen = keys[np.sort(np.unique(keys, return_index=True)[1])][:count]
    return pairs_of(chosen, nodes)


def draw_for(items: Ints, per_item: int, nodes: int, known: Ints, seed: int, epoch: int) -> Ints:
    """``per_item`` pairs [2, items * per_item] for each of the items, uniformly from those that are not known.

    Args:
        items: The numbers of the links that the pairs are drawn for.
        per_item: The number of pairs for each.
        nodes: The number of nodes.
        known: The keys of the pairs that are not drawn, sorted.
        seed: The seed of the run.
        epoch: The epoch.
    """
    key = np.uint64(derive(seed, "negatives", epoch))
    counter: Ints = (items[:, None] * per_item + np.arange(per_item)).ravel()
    pairs = np.empty((2, len(counter)), dtype=np.int64)
    left = np.arange(len(counter))
    for attempt in range(ATTEMPTS):
        word = _mix(key + (counter[left] * ATTEMPTS + attempt).astype(np.uint64) * _GOLDEN)
        pairs[0, left] = _below(word >> np.uint64(_WORD), nodes)
        pairs[1, left] = _below(_mix(word) >> np.uint64(_WORD), nodes)
        drawn = pairs[:, left]
        refused = (drawn[0] == drawn[1]) | is_in(pair_keys(drawn, nodes), known)
        left = left[refused]
        if not len(left):
            return pairs
    raise InputError(
        f"no pair of nodes without a link was found in {ATTEMPTS} draws: nearly all of {nodes} nodes are linked"
    )


def _mix(z: Words) -> Words:
    """The finalizer of SplitMix64: a permutation of 64-bit words."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _below(word: Words, nodes: int) -> Ints:
    """Numbers below ``nodes`` from words of 32 bits."""
    return ((word * np.uint64(nodes)) >> np.uint64(_WORD)).astype(np.int64)
