"""One Adjacency for the same tensor, another as soon as anything about it changes."""

import gc

import torch
from torch.testing import assert_close

from deepergcn.nn.pyg import adjacency_cache
from deepergcn.nn.pyg.adjacency_cache import ENTRIES, cached_adjacency, cached_grouping


def edges() -> torch.Tensor:
    return torch.tensor([[0, 1, 2], [1, 2, 0]])


def test_the_same_tensor_gives_the_same_object() -> None:
    edge_index = edges()
    first = cached_adjacency(edge_index, 3, 3)
    assert cached_adjacency(edge_index, 3, 3) is first
    assert cached_adjacency(edge_index[:, :], 3, 3) is first
    assert cached_adjacency(edge_index.clone(), 3, 3) is not first
    assert cached_adjacency(first, 3, 3) is first


def test_a_change_in_place_is_noticed() -> None:
    edge_index = edges()
    first = cached_adjacency(edge_index, 3, 3)
    edge_index[1, 0] = 0
    second = cached_adjacency(edge_index, 3, 3)
    assert second is not first
    assert_close(second.edge_index(), edge_index)


def test_new_memory_behind_the_same_tensor_is_noticed() -> None:
    edge_index = edges()
    first = cached_adjacency(edge_index, 3, 3)
    other = edges().flip(0)
    edge_index.data = other
    assert cached_adjacency(edge_index, 3, 3) is not first
    assert_close(cached_adjacency(edge_index, 3, 3).edge_index(), other)


def test_other_numbers_of_vertices_are_another_graph() -> None:
    edge_index = edges()
    assert cached_adjacency(edge_index, 3, 3).num_targets == 3
    assert cached_adjacency(edge_index, 3, 5).num_targets == 5


def test_rows_grouped_by_an_index_are_known_by_the_edges_they_come_from() -> None:
    edge_index = edges()
    first = cached_grouping(edge_index[1], 3)
    assert cached_grouping(edge_index[1], 3) is first
    assert cached_grouping(edge_index[0], 3) is not first
    assert_close(first.edge_index(), torch.tensor([[0, 1, 2], [1, 2, 0]]))


def test_what_is_known_of_a_tensor_goes_with_it() -> None:
    edge_index = edges()
    cached_adjacency(edge_index, 3, 3)
    key = id(edge_index)
    assert key in adjacency_cache._known
    del edge_index
    gc.collect()
    assert key not in adjacency_cache._known


def test_many_views_of_one_tensor_do_not_pile_up() -> None:
    everything = torch.zeros(2, 100, dtype=torch.int64)
    for i in range(50):
        cached_adjacency(everything[:, i : i + 2], 1, 1)
    assert len(adjacency_cache._known[id(everything)]) <= ENTRIES


def test_tensors_without_a_counter_are_built_each_time() -> None:
    with torch.inference_mode():
        edge_index = edges()
        first = cached_adjacency(edge_index, 3, 3)
        edge_index[1, 0] = 0
        assert_close(cached_adjacency(edge_index, 3, 3).edge_index(), edge_index)
    assert_close(first.edge_index(), edges())
