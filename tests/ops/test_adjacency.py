"""Adjacency: both orders of the edges, from every form of a graph, and errors that name what is wrong."""

import pytest
import torch
from hypothesis import given
from torch.testing import assert_close
from torch_geometric import EdgeIndex

from deepergcn.errors import InputError
from deepergcn.ops import Adjacency, as_adjacency
from tests.ops.graphs import Case, cases


def edges_of(rowptr: torch.Tensor, others: torch.Tensor) -> list[tuple[int, int]]:
    """(row, other end) of every edge, in the order in which they are stored."""
    rows = torch.arange(len(rowptr) - 1).repeat_interleave(rowptr.diff())
    return list(zip(rows.tolist(), others.tolist(), strict=True))


@given(case=cases(edges=(None,)))
def test_both_orders_hold_the_edges_and_where_they_came_from(case: Case) -> None:
    adjacency = case.adjacency
    given_edges = case.edge_index.T.tolist()
    by_target = edges_of(adjacency.rowptr, adjacency.source)
    assert [[u, v] for v, u in by_target] == [given_edges[e] for e in adjacency.edge.tolist()]
    by_source = edges_of(adjacency.rowptr_t, adjacency.target)
    assert [[u, v] for u, v in by_source] == [given_edges[e] for e in adjacency.edge_t.tolist()]
    assert sorted(adjacency.edge.tolist()) == sorted(adjacency.edge_t.tolist()) == list(range(len(given_edges)))
    assert_close(adjacency.edge_index(), case.edge_index)
    assert adjacency.degree().sum() == adjacency.num_edges == len(given_edges)


@given(case=cases(edges=(None,)))
def test_transposing_turns_every_edge_round(case: Case) -> None:
    adjacency = case.adjacency
    turned = adjacency.transpose()
    assert (turned.num_sources, turned.num_targets) == (adjacency.num_targets, adjacency.num_sources)
    assert_close(turned.edge_index(), case.edge_index.flip(0))
    assert_close(turned.transpose().edge_index(), case.edge_index)
    assert_close(adjacency.to("cpu").edge_index(), case.edge_index)


@given(case=cases(edges=(None,)))
def test_every_form_of_a_graph(case: Case) -> None:
    size = (len(case.x), case.num_targets)
    assert_close(Adjacency.from_edge_index(case.edge_index.int(), size).edge_index(), case.edge_index)
    known = EdgeIndex(case.edge_index, sparse_size=size)
    assert_close(Adjacency.from_edge_index(known).edge_index(), case.edge_index)
    assert Adjacency.from_edge_index(known).num_targets == case.num_targets
    values = torch.ones(case.edge_index.shape[1])
    sparse = torch.sparse_coo_tensor(case.edge_index.flip(0), values, size[::-1], check_invariants=True)
    assert_close(as_adjacency(sparse, *size).edge_index(), case.edge_index)


def test_the_size_is_the_highest_number_where_nothing_else_is_known() -> None:
    assert Adjacency.from_edge_index(torch.tensor([[0, 4], [1, 2]])).num_targets == 5
    assert Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.int64)).num_sources == 0
    assert repr(Adjacency.from_edge_index(torch.tensor([[0], [1]]), 3)) == "Adjacency(3 sources, 3 targets, 1 edges)"


@pytest.mark.parametrize(
    ("edge_index", "size", "message"),
    [
        ([[0, 3], [1, 1]], 3, r"edge_index: source 3 of edge 1 is out of range, expected 0 to 2 \(3 sources\)"),
        ([[0, 1], [5, 1]], (3, 5), r"edge_index: target 5 of edge 0 is out of range, expected 0 to 4 \(5 targets\)"),
        ([[0, -1], [1, 1]], 3, "edge_index: source -1 of edge 1 is out of range"),
        ([[0.0, 1.0], [1.0, 1.0]], 3, "edge_index: expected int64 or int32, got torch.float32"),
        ([[True], [False]], 3, "edge_index: expected int64 or int32, got torch.bool"),
        ([0, 1], 3, r"edge_index: expected the shape \[2, edges\], got \[2\]"),
        ([[0], [1], [2]], 3, r"edge_index: expected the shape \[2, edges\], got \[3, 1\]"),
        ([[0], [0]], -1, "num_nodes: the number of sources must not be negative, got -1"),
        ([[0], [0]], (1, -2), "num_nodes: the number of targets must not be negative, got -2"),
    ],
)
def test_bad_edges_are_named(edge_index: list[list[int]], size: int | tuple[int, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Adjacency.from_edge_index(torch.tensor(edge_index), size)


def test_a_graph_of_another_size_or_kind_is_refused() -> None:
    adjacency = Adjacency.from_edge_index(torch.tensor([[0], [1]]), (2, 3))
    with pytest.raises(InputError, match="it has 2 sources and 3 targets, but x has 2 and 2 rows"):
        as_adjacency(adjacency, 2, 2)
    with pytest.raises(InputError, match=r"edge_index: expected an Adjacency, .* got list"):
        as_adjacency([[0], [1]], 2, 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="adjacency: expected a two-dimensional sparse tensor"):
        Adjacency.from_sparse(torch.eye(2))
