"""The generated neighbourhoods of proteins: schema, bytes, statistics, and where the class can be seen."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from deepergcn.data import Dataset, load_dataset
from deepergcn.data.synthetic.ppa import synthetic_ppa
from deepergcn.errors import InputError
from tests.data.examples import assert_same


@cache
def neighbourhoods(graphs: int, nodes: float, edges: float, seed: int = 0) -> Dataset:
    return synthetic_ppa(graphs, nodes, edges, seed, "made here")


def graph_of_edges(dataset: Dataset) -> Tensor:
    return torch.arange(len(dataset)).repeat_interleave(dataset.edge_ptr.diff())


@pytest.mark.parametrize(("graphs", "nodes", "edges"), [(1, 8, 8), (5, 8, 400), (300, 20, 60), (40, 243.4, None)])
def test_schema_at_any_size(graphs: int, nodes: float, edges: float | None, tmp_path: Path) -> None:
    options = {"graphs": graphs, "nodes": nodes} | ({} if edges is None else {"edges": edges})
    dataset = load_dataset("synthetic-ppa", tmp_path, **options)
    assert len(dataset) == graphs
    assert (dataset.task.level, dataset.task.kind, dataset.task.outputs) == ("graph", "multi-class", 37)
    assert dataset.symmetric
    assert dataset.x is None
    low, high = dataset.edge_index.long()
    assert bool((low < high).all())
    pairs = torch.stack((graph_of_edges(dataset), low, high))
    assert pairs.unique(dim=1).shape == pairs.shape
    assert dataset.edge_attr is not None
    assert dataset.edge_attr.shape == (dataset.num_edges, 7)
    assert bool(((dataset.edge_attr >= 0) & (dataset.edge_attr <= 1)).all())
    assert bool((dataset.edge_attr > 0).any(1).all())
    assert sum(map(len, dataset.split.values())) == graphs


def test_graphs_are_as_large_as_those_of_ogbg_ppa() -> None:
    dataset = neighbourhoods(300, 243.4, 2266.1)
    nodes, edges = dataset.node_ptr.diff().double(), dataset.edge_ptr.diff().double()
    assert abs(nodes.mean() - 243.4) < 10
    assert abs(edges.mean() - 2266.1) < 150
    assert nodes.max() <= 300
    assert nodes.min() >= 50
    node = dataset.edge_index.long() + dataset.node_ptr[graph_of_edges(dataset)]
    degree = node.flatten().bincount(minlength=dataset.num_nodes).double()
    assert degree.min() >= 2
    assert degree.quantile(0.99) > 3 * degree.mean()


def test_species_are_in_one_part_and_classes_in_all() -> None:
    dataset = neighbourhoods(2000, 10, 20)
    species = np.arange(2000) * 296 // 2000
    parts = {part: index.numpy() for part, index in dataset.split.items()}
    in_parts = [set(species[index]) for index in parts.values()]
    assert sum(map(len, in_parts)) == len(set().union(*in_parts)) == 296
    for index in parts.values():
        assert set(dataset.y[index].tolist()) == set(range(37))
    for part, share in (("train", 0.4946), ("valid", 0.2853), ("test", 0.2201)):
        assert abs(len(parts[part]) / 2000 - share) < 0.01
    for one in range(296):
        assert len(dataset.y[species == one].unique()) == 1


def test_same_seed_gives_the_same_bytes() -> None:
    first = neighbourhoods(200, 20, 60)
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if threads > 1 else 3)
    try:
        assert_same(synthetic_ppa(200, 20, 60, 0, "again"), first)
    finally:
        torch.set_num_threads(threads)
    other = neighbourhoods(200, 20, 60, seed=1)
    assert other.num_edges != first.num_edges or not torch.equal(other.edge_index, first.edge_index)


def test_cache_is_opened_and_holds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_dataset("synthetic-ppa", tmp_path, graphs=6, nodes=9)
    monkeypatch.setattr("deepergcn.data.synthetic.ppa.synthetic_ppa", None)
    assert_same(load_dataset("synthetic-ppa", tmp_path, graphs=6, nodes=9), first)


def moments(dataset: Dataset, hops: int) -> list[Tensor]:
    """For every graph, how what is around a node goes with what is around nodes k hops off, for k = 0, 1, ..."""
    graph = graph_of_edges(dataset)
    assert dataset.edge_attr is not None
    ends = dataset.edge_index.long() + dataset.node_ptr[graph]
    source, target = torch.cat((ends, ends.flip(0)), dim=1)
    features = dataset.edge_attr.repeat(2, 1)
    graph_of = torch.arange(len(dataset)).repeat_interleave(dataset.node_ptr.diff())
    size = dataset.node_ptr.diff()[:, None]

    def mean(values: Tensor, weight: Tensor) -> Tensor:
        total = torch.zeros(dataset.num_nodes, 1).index_add_(0, target, weight)
        return torch.zeros(dataset.num_nodes, 7).index_add_(0, target, weight * values) / total

    h = mean(features, torch.ones(len(features), 1))
    h -= (torch.zeros(len(dataset), 7).index_add_(0, graph_of, h) / size)[graph_of]
    weight = (features**2).sum(1, keepdim=True)
    found, far = [], h
    for _ in range(hops + 1):
        products = (h[:, :, None] * far[:, None, :]).flatten(1)
        found.append(torch.zeros(len(dataset), 49).index_add_(0, graph_of, products) / size)
        far = mean(far[source], weight)
    return found


def accuracy(features: Tensor, dataset: Dataset) -> float:
    """On the test part, of linear functions that are fitted to the train part."""
    x = features.double().numpy()
    train, test, y = dataset.split["train"].numpy(), dataset.split["test"].numpy(), dataset.y.numpy()
    x = (x - x[train].mean(0)) / x[train].std(0)
    x = np.concatenate((x, np.ones((len(x), 1))), axis=1)
    fitted = np.linalg.solve(x[train].T @ x[train] + 3 * np.eye(x.shape[1]), x[train].T @ np.eye(37)[y[train]])
    return float(((x[test] @ fitted).argmax(1) == y[test]).mean())


def test_class_shows_in_what_lies_around_and_more_so_farther_off() -> None:
    dataset = neighbourhoods(1000, 150, 1400)
    scores = [accuracy(found, dataset) for found in moments(dataset, 3)]
    assert scores[0] < 0.1
    assert scores[1] > scores[0] + 0.08
    assert scores[3] > scores[1] + 0.03
    assert scores[3] < 0.7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graphs": 0}, "graphs is 0; expected an integer of at least 1"),
        ({"graphs": 3, "nodes": 7}, "nodes is 7; expected a mean number of nodes from 8 to 2000"),
        ({"graphs": 3, "nodes": float("nan")}, "nodes is nan; expected a mean number"),
        ({"graphs": 3, "nodes": 10, "edges": 9}, "edges is 9; expected a mean number of edges of at least 10"),
        ({"graphs": 3, "nodes": 10, "edges": 1e300}, "edges is 1e.300; expected .* and at most 4000000"),
        ({"graphs": 10**12}, "synthetic-ppa: 1000000000000 graphs of 243.4 nodes: needs .* GB of memory"),
        ({"graphs": 10**400}, "graphs is 1000.*; expected an integer of at most 64 bits"),
        ({"graphs": 3, "seed": 1.5}, "option 'seed' is 1.5; Input should be a valid integer"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_dataset("synthetic-ppa", tmp_path, **options)
