"""GENConv between two sets of vertices, with or without features of the targets; several aggregators at once."""

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch.testing import assert_close
from torch_geometric import EdgeIndex

from deepergcn.errors import InputError
from deepergcn.nn import GENConv, from_pyg
from deepergcn.ops import Adjacency, reference

EDGES = torch.tensor([[0, 1, 6, 3], [0, 1, 2, 2]])
X = torch.rand(7, 4, generator=torch.Generator().manual_seed(0))
GRAPHS: dict[str, tuple[Any, dict[str, Any]]] = {
    "size": (EDGES, {"size": (7, 4)}),
    "half a size": (EDGES, {"size": (None, 4)}),
    "EdgeIndex": (EdgeIndex(EDGES, sparse_size=(7, 4)), {}),
    "Adjacency": (Adjacency.from_edge_index(EDGES, (7, 4)), {}),
    "adj_t": (torch.sparse_coo_tensor(EDGES.flip(0), torch.ones(4), (4, 7), check_invariants=True).coalesce(), {}),
}


def make(**options: Any) -> GENConv:
    torch.manual_seed(0)
    return GENConv(4, 4, norm="layer", **options)


@pytest.mark.parametrize("graph", GRAPHS)
def test_targets_without_features_are_counted_by_the_graph(graph: str) -> None:
    conv = make()
    edge_index, size = GRAPHS[graph]
    out = conv((X, None), edge_index, **size)
    assert_close(out, conv.mlp(reference.softmax(X, Adjacency.from_edge_index(EDGES, (7, 4)))))


@pytest.mark.parametrize("graph", ["size", "EdgeIndex", "adj_t"])
def test_it_is_what_pyg_gives(graph: str) -> None:
    theirs = pyg.GENConv(4, 4, norm="layer")
    edge_index, size = GRAPHS[graph]
    assert_close(from_pyg(theirs)((X, None), edge_index, **size), theirs((X, None), edge_index, **size))


def test_without_any_number_the_targets_are_as_many_as_the_sources() -> None:
    theirs = pyg.GENConv(4, 4, norm="layer")
    assert_close(from_pyg(theirs)((X, None), EDGES), theirs((X, None), EDGES))


@pytest.mark.parametrize(
    ("x", "graph", "size", "message"),
    [
        (X, EDGES, (7, 4), "size: has 4 targets, but x has 7"),
        ((X, X[:3]), EDGES, (6, 3), "size: has 6 sources, but x has 7"),
        ((X, X[:3]), EdgeIndex(EDGES, sparse_size=(7, 4)), None, "edge_index: has 4 targets, but x has 3"),
        ((X, None), Adjacency.from_edge_index(EDGES, (7, 4)), (7, 3), "edge_index: has 4 targets, but size has 3"),
        ((X, None), EDGES, (7, 2), "edge_index: target 2 of edge 2 is out of range"),
        (X, EDGES, 7, r"size: expected \(sources, targets\), got 7"),
    ],
)
def test_numbers_that_disagree_are_named(x: Any, graph: Any, size: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()(x, graph, size=size)


def test_msg_norm_needs_features_of_the_targets() -> None:
    with pytest.raises(InputError, match="x: expected features of the targets, since MsgNorm scales messages by them"):
        make(msg_norm=True)((X, None), EDGES)


# Several aggregators


def test_several_aggregators_are_concatenated_and_projected() -> None:
    conv = make(aggr=["softmax", "power_mean", "max"], beta=0.5, p=2.0)
    adjacency = Adjacency.from_edge_index(EDGES, 7)
    parts: list[Tensor] = [
        reference.softmax(X, adjacency, beta=0.5),
        reference.power_mean(X, adjacency, p=2.0),
        reference.max(X, adjacency),
    ]
    assert conv.message_projection is not None
    assert_close(conv(X, EDGES), conv.mlp(X + conv.message_projection(torch.cat(parts, dim=1))))
    assert conv.dynamics() == {"beta_0": 0.5, "y_0": 0.0, "p_1": 2.0, "y_1": 0.0}


def test_a_list_of_one_is_the_one() -> None:
    one, alone = make(aggr=["mean"]), make(aggr="mean")
    assert one.message_projection is None
    assert_close(one(X, EDGES), alone(X, EDGES))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aggr": []}, "aggr: expected at least one aggregator, got an empty list"),
        ({"aggr": ["mean", "median"]}, "aggr: expected one of softmax, .* got 'median'"),
        ({"aggr": ["mean", "max"], "learn_beta": True}, "learn_beta: only softmax can have it"),
        ({"aggr": 3}, "aggr: expected a name, an Aggregation or a list of them, got int"),
        ({"aggr": ["mean", ["max"], None]}, "aggr: expected names and Aggregations in the list, got list, NoneType"),
    ],
)
def test_bad_lists_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**options)
