"""The dataset object: what it gives out, and that it takes nothing that is wrong."""

from typing import Any

import pytest
import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from tests.data.examples import one_network, two_molecules


def test_graph_has_both_directions_in_turn_with_their_features() -> None:
    data = two_molecules().graph(0)
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.edge_attr.tolist() == [[0], [0], [2], [2]]
    assert data.x.tolist() == [[5, 0], [6, 1], [7, 0]]
    assert data.y.tolist() == [[0.0, 1.0]]
    assert {data.x.dtype, data.edge_index.dtype, data.edge_attr.dtype} == {torch.int64}


def test_graph_is_numbered_from_zero_and_keeps_missing_labels() -> None:
    data = two_molecules().graph(1)
    assert data.num_nodes == 2
    assert data.edge_index.tolist() == [[0, 1], [1, 0]]
    assert data.y[0, 0] == 1
    assert data.y[0, 1].isnan()


def test_directed_graph_is_as_given_with_its_extra_columns() -> None:
    data = one_network().graph(0)
    assert data.edge_index.tolist() == [[0, 1, 3], [1, 2, 3]]
    assert data.y.tolist() == [2, 0, -1, 1]
    assert data.year.tolist() == [2001, 2002, 2003, 2004]
    assert data.x.dtype == torch.float32


def test_counts() -> None:
    molecules, network = two_molecules(), one_network()
    assert (len(molecules), molecules.num_nodes, molecules.num_edges, molecules.num_items) == (2, 5, 3, 2)
    assert (len(network), network.num_nodes, network.num_edges, network.num_items) == (1, 4, 3, 4)


def test_adjacency_is_that_of_the_graph_and_built_once() -> None:
    network = one_network(symmetric=True)
    assert network.adjacency() is network.adjacency()
    assert torch.equal(network.adjacency().edge_index(), network.graph(0).edge_index)


def test_adjacency_of_several_graphs_is_refused() -> None:
    with pytest.raises(InputError, match="2 graphs"):
        two_molecules().adjacency()


def test_graph_that_does_not_exist() -> None:
    with pytest.raises(InputError, match="graph 2 does not exist; two-molecules has graphs 0 to 1"):
        two_molecules().graph(2)


def test_replace_checks_and_shares() -> None:
    network = one_network()
    undirected = network.replace(symmetric=True)
    assert undirected.x is network.x
    assert undirected.adjacency().num_edges == 6
    with pytest.raises(InputError, match="y has"):
        network.replace(y=torch.tensor([0, 0, 0, 3]))


def test_loss_follows_from_kind() -> None:
    assert Task("graph", "binary", 1, "rocauc").loss == "bce"
    assert Task("node", "multi-label", 4, "rocauc").loss == "bce"
    assert Task("node", "multi-class", 4, "accuracy").loss == "cross-entropy"
    assert Task("graph", "regression", 2, "mae").loss == "mse"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("edge", "binary", 1, "rocauc"), "task level is 'edge'"),
        (("node", "ranking", 1, "rocauc"), "task kind is 'ranking'"),
        (("node", "regression", 1, "rocauc"), "expected rmse or mae"),
        (("node", "multi-class", 1, "accuracy"), "at least 2"),
        (("node", "binary", 2, "rocauc"), "expected 1 for a binary task"),
        (("node", "regression", 0, "mae"), "at least 1"),
        (("node", "regression", True, "mae"), "expected an integer"),
    ],
)
def test_wrong_tasks(fields: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Task(*fields)


NAN = float("nan")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node_ptr": torch.tensor([0, 3])}, "edge_ptr has 3 entries; expected 2"),
        ({"node_ptr": torch.tensor([1, 3, 5])}, "node_ptr has entries that do not rise from 0"),
        ({"node_ptr": torch.tensor([0, 5, 5])}, r"a graph with 0 nodes \(graph 1\)"),
        ({"node_ptr": torch.tensor([0, 3, 5], dtype=torch.int32)}, "node_ptr has torch.int32"),
        ({"edge_index": torch.tensor([[0, 1], [1, 2]])}, r"edge_index has torch.int64 \[2, 2\]"),
        ({"edge_index": torch.tensor([[0, 1, 0], [1, 2, 2]])}, "node numbers from 0 to 2"),
        ({"edge_index": torch.tensor([[0, 1, 0], [1, 2, -1]])}, "node numbers from -1 to 2"),
        ({"x": torch.zeros(4, 2).byte()}, r"x has shape \[4, 2\]"),
        ({"x": torch.zeros(5, 2)}, "x has torch.float32 with 2 columns"),
        ({"x_categories": (9,)}, "2 columns and 1 categories"),
        ({"x_categories": (8, 2)}, "x has values from 0 to 8 in column 0; expected 0 to 7"),
        ({"x": None}, "x has categories but no values"),
        ({"x": torch.full((5, 3), 9.0)}, "x has values from 9 to 9 in column 0; expected 0 to 8"),
        (
            {"x": torch.full((5, 3), 0.5)},
            "x has a category that is no integer; expected categories in the first 2",
        ),
        ({"x": torch.tensor([[0.0, 0.0, NAN]] * 5)}, "x has a value that is not finite"),
        ({"x": torch.zeros(5, 2)}, "x has torch.float32 with 2 columns and 2 categories; expected integers"),
        ({"x_categories": None}, "x has torch.uint8; expected float32"),
        ({"x": torch.tensor([[NAN]] * 5), "x_categories": None}, "x has a value that is not finite"),
        ({"edge_attr": torch.zeros(2, 1).byte()}, "edge_attr has shape"),
        ({"node_extra": {"species": torch.zeros(2)}}, "node_extra 'species' has torch.float32"),
        ({"y": torch.zeros(2, 1)}, "y has torch.float32"),
        ({"y": torch.tensor([[0.0, 0.5], [1.0, 1.0]])}, "y has a value other than 0 and 1"),
        ({"split": {"train": torch.tensor([0])}}, "split has parts train"),
        ({"label_names": ("one",)}, "label_names has 1 names"),
        ({"ids": ("a", "b", "c")}, "ids has 3 ids"),
    ],
)
def test_wrong_fields_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        two_molecules(**changes)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([0, 4], "split 'train' has numbers from 0 to 4; expected 0 to 3"),
        ([-1], "split 'train' has numbers from -1"),
        ([0, 0], "split 'train' has a repeated number"),
        ([3], "split 'valid' has node 3, which is in 'train' too"),
    ],
)
def test_wrong_splits(train: list[int], message: str) -> None:
    split = dict(one_network().split)
    with pytest.raises(InputError, match=message):
        one_network(split={**split, "train": torch.tensor(train)})


def test_infinite_regression_target() -> None:
    task = Task("node", "regression", 1, "mae")
    with pytest.raises(InputError, match="infinite"):
        one_network(task=task, y=torch.tensor([[1.0], [NAN], [2.0], [float("inf")]]))


def test_dataset_without_any_edge() -> None:
    lonely: Dataset = one_network(edge_ptr=torch.tensor([0, 0]), edge_index=torch.zeros(2, 0, dtype=torch.int32))
    assert lonely.graph(0).edge_index.shape == (2, 0)
    assert lonely.adjacency().num_edges == 0
