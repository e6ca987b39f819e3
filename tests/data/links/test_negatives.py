"""Pairs without a link: different nodes, never a known pair, uniform, and the same however they are asked for."""

import numpy as np
import pytest

from deepergcn.data.links.negatives import draw_distinct, draw_for
from deepergcn.data.links.pairs import is_in, pair_keys, pairs_of, with_keys
from deepergcn.errors import InputError

KNOWN = np.unique(pair_keys(np.array([[0, 1, 2, 3, 5, 7], [1, 2, 3, 4, 9, 7]]), 10))


def test_a_pair_has_one_key_in_both_directions_and_comes_back_from_it() -> None:
    pairs = np.array([[3, 1, 0], [1, 3, 2]])
    keys = pair_keys(pairs, 5)
    assert keys[0] == keys[1] != keys[2]
    assert pairs_of(keys, 5).tolist() == [[1, 1, 0], [3, 3, 2]]


def test_keys_are_found_among_known_ones_and_all_places_of_a_key() -> None:
    keys = np.array([5, 2, 5, 9, 2])
    order = np.argsort(keys, kind="stable")
    assert is_in(np.array([1, 2, 9, 10]), np.array([2, 9])).tolist() == [False, True, True, False]
    assert not is_in(np.array([1]), np.empty(0, dtype=np.int64)).any()
    assert sorted(with_keys(keys[order], order, np.array([2, 5]))) == [0, 1, 2, 4]
    assert with_keys(keys[order], order, np.array([3])).tolist() == []
    assert with_keys(keys[order], order, np.empty(0, dtype=np.int64)).tolist() == []


def test_all_free_pairs_of_a_small_graph_are_drawn_once_each() -> None:
    free = 45 - 5
    drawn = draw_distinct(free, 10, KNOWN, 0, "test")
    keys = pair_keys(drawn, 10)
    assert len(np.unique(keys)) == free
    assert not is_in(keys, KNOWN).any()
    assert (drawn[0] != drawn[1]).all()


def test_more_pairs_than_there_are_is_an_error() -> None:
    with pytest.raises(InputError, match="scoring needs 41 pairs of nodes without a link; there are 40"):
        draw_distinct(41, 10, KNOWN, 0, "test")


def test_pairs_of_a_large_graph_are_distinct_and_not_known() -> None:
    nodes = 5_000
    rng = np.random.default_rng(0)
    known = np.unique(pair_keys(rng.integers(0, nodes, (2, 200_000)), nodes))
    drawn = draw_distinct(30_000, nodes, known, 0, "test")
    keys = pair_keys(drawn, nodes)
    assert drawn.shape == (2, 30_000)
    assert len(np.unique(keys)) == 30_000
    assert not is_in(keys, known).any()
    assert (drawn[0] != drawn[1]).all()
    assert (drawn == draw_distinct(30_000, nodes, known, 0, "test")).all()
    assert (drawn != draw_distinct(30_000, nodes, known, 1, "test")).any()


def test_a_draw_depends_on_seed_epoch_and_link_alone() -> None:
    items = np.arange(100)
    every = draw_for(items, 2, 10, KNOWN, seed=3, epoch=5)
    assert (draw_for(items[40:60], 2, 10, KNOWN, seed=3, epoch=5) == every[:, 80:120]).all()
    assert (
        draw_for(items[::-1], 2, 10, KNOWN, seed=3, epoch=5).reshape(2, 100, 2)[:, ::-1].reshape(2, 200) == every
    ).all()
    assert (draw_for(items, 2, 10, KNOWN, seed=3, epoch=6) != every).any()
    assert (draw_for(items, 2, 10, KNOWN, seed=4, epoch=5) != every).any()


def test_pairs_of_training_are_uniform_over_those_that_are_free() -> None:
    drawn = draw_for(np.arange(80_000), 1, 10, KNOWN, seed=0, epoch=0)
    keys, count = np.unique(pair_keys(drawn, 10), return_counts=True)
    assert (drawn[0] != drawn[1]).all()
    assert not is_in(keys, KNOWN).any()
    assert len(keys) == 40
    # A count of 2,000 expected has the standard deviation 44; six of them, for the largest of 40.
    assert abs(count - 2_000).max() < 6 * np.sqrt(2_000 * (1 - 1 / 40))


def test_a_graph_without_a_free_pair_is_an_error() -> None:
    every = pair_keys(np.stack(np.triu_indices(6, 1)), 6)
    with pytest.raises(InputError, match="no pair of nodes without a link was found in 256 draws"):
        draw_for(np.arange(3), 1, 6, np.sort(every), seed=0, epoch=0)
