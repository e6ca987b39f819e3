"""One Adjacency for the same tensor, another as soon as anything about it changes."""

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.testing import assert_close

from deepergcn.errors import InputError
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


def write_data(edge_index: torch.Tensor) -> None:
    edge_index.data[1, 0] = 0


def write_numpy(edge_index: torch.Tensor) -> None:
    edge_index.numpy()[1, 0] = 0


def write_view(edge_index: torch.Tensor) -> None:
    edge_index[1].data[:1].fill_(0)


def write_detached(edge_index: torch.Tensor) -> None:
    edge_index.detach().untyped_storage()[24] = 0  # the first byte of edge_index[1, 0]


def set_other(edge_index: torch.Tensor) -> None:
    edge_index.set_(edges().flip(0))  # type: ignore[call-overload]


def resize(edge_index: torch.Tensor) -> None:
    edge_index.resize_(2, 1)


@pytest.mark.parametrize("change", [write_data, write_numpy, write_view, write_detached, set_other, resize])
def test_a_change_behind_the_version_counter_is_noticed(change: Callable[[torch.Tensor], None]) -> None:
    edge_index = edges()
    first = cached_adjacency(edge_index, 3, 3)
    grouped = cached_grouping(edge_index[1], 3)
    change(edge_index)
    assert not torch.equal(edge_index, edges())
    assert_close(cached_adjacency(edge_index, 3, 3).edge_index(), edge_index)
    assert_close(cached_grouping(edge_index[1], 3).edge_index()[1], edge_index[1])
    assert_close(first.edge_index(), edges())
    assert_close(grouped.edge_index()[1], edges()[1])


def test_tensors_without_a_counter_are_known_too() -> None:
    with torch.inference_mode():
        edge_index = edges()
        first = cached_adjacency(edge_index, 3, 3)
        assert cached_adjacency(edge_index, 3, 3) is first
        edge_index[1, 0] = 0
        assert_close(cached_adjacency(edge_index, 3, 3).edge_index(), edge_index)
    assert_close(first.edge_index(), edges())


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_sparse_tensors_are_known_by_their_indices(layout: torch.layout) -> None:
    dense = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    matrix = dense.to_sparse(layout=layout)
    first = cached_adjacency(matrix, 3, 3)
    assert cached_adjacency(matrix, 3, 3) is first
    indices = matrix._indices()[1] if layout == torch.sparse_coo else matrix.col_indices()
    indices.data[0] = 0
    assert_close(cached_adjacency(matrix, 3, 3).source.long(), indices)


def test_threads_that_share_a_graph() -> None:
    edge_index = torch.randint(0, 50, (2, 400), generator=torch.Generator().manual_seed(0))
    expected = cached_adjacency(edge_index.clone(), 50, 50).edge_index()

    def use(number: int) -> bool:
        part = edge_index[:, : 100 + number % 7]
        cached_adjacency(part, 50, 50 + number % 3)
        return torch.equal(cached_adjacency(edge_index, 50, 50).edge_index(), expected)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(use, range(100)))


@pytest.mark.filterwarnings("ignore:Sparse B?C?SR tensor support is in beta")
def test_a_layout_that_is_not_known_is_refused() -> None:
    blocks = torch.eye(4).to_sparse_bsr((2, 2))
    with pytest.raises(InputError, match=r"COO, CSR or CSC.*got 2 dimensions of layout torch.sparse_bsr"):
        cached_adjacency(blocks, 4, 4)
