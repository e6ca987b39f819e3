"""The real datasets, where a machine has them: counts, splits and labels as published."""

from pathlib import Path
from typing import Any

import pytest
import torch

from deepergcn.data import Dataset, Task, load_dataset
from tests.data.examples import assert_same
from tests.data.real import real_data


def opened(name: str, root: Path, **options: Any) -> Dataset:
    """The dataset as read, after making sure that the cache gives the same."""
    folder = real_data(name)
    dataset = load_dataset(folder, root, **options)
    assert_same(load_dataset(folder, root, **options), dataset)
    return dataset


def parts(dataset: Dataset) -> tuple[int, ...]:
    return tuple(len(dataset.split[part]) for part in ("train", "valid", "test"))


def test_molhiv(tmp_path: Path) -> None:
    dataset = opened("ogbg_molhiv", tmp_path)
    assert dataset.task == Task("graph", "binary", 1, "rocauc")
    assert (len(dataset), dataset.num_nodes, dataset.num_edges) == (41_127, 1_049_163, 1_129_688)
    assert dataset.symmetric
    assert dataset.y.sum() == 1_443
    assert not dataset.y.isnan().any()
    assert parts(dataset) == (32_901, 4_113, 4_113)
    assert dataset.x_categories == (119, 5, 12, 12, 10, 6, 6, 2, 2)
    assert dataset.edge_categories == (5, 6, 2)
    assert dataset.x is not None
    assert dataset.x.shape == (1_049_163, 9)
    first = dataset.graph(0)
    assert (first.num_nodes, first.num_edges) == (19, 40)
    assert first.x[0].tolist() == [5, 0, 4, 5, 3, 0, 2, 0, 0]
    assert first.edge_index[:, :4].tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_arxiv_structure(tmp_path: Path) -> None:
    dataset = opened("ogbn_arxiv_structure", tmp_path, symmetric=False)
    assert dataset.task == Task("node", "multi-class", 40, "accuracy")
    assert (len(dataset), dataset.num_nodes, dataset.num_edges) == (1, 169_343, 1_166_243)
    assert parts(dataset) == (90_941, 29_799, 48_603)
    assert dataset.x is None
    assert dataset.y.unique().tolist() == list(range(40))
    year = dataset.node_extra["year"]
    assert int(year[dataset.split["train"]].max()) == 2017
    assert year[dataset.split["valid"]].unique().tolist() == [2018]
    assert int(year[dataset.split["test"]].min()) == 2019
    assert dataset.adjacency().num_edges == 1_166_243


def test_yeast_proteins(tmp_path: Path) -> None:
    dataset = opened("yeast_proteins", tmp_path)
    assert dataset.task == Task("node", "multi-label", 348, "rocauc")
    assert (len(dataset), dataset.num_nodes, dataset.num_edges) == (1, 4_900, 63_309)
    assert parts(dataset) == (2_940, 980, 980)
    assert int((dataset.y.sum(1) == 0).sum()) == 436
    assert dataset.edge_attr is not None
    assert dataset.edge_attr.shape == (63_309, 6)
    assert 0 <= float(dataset.edge_attr.min()) <= float(dataset.edge_attr.max()) <= 1
    assert dataset.adjacency().num_edges == 126_618


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "classes", "sizes"),
    [
        ("planetoid_cora", 2_708, 5_278, 1_433, 7, (140, 500, 1_000)),
        ("planetoid_pubmed", 19_717, 44_324, 500, 3, (60, 500, 1_000)),
    ],
)
def test_planetoid(
    name: str, nodes: int, edges: int, features: int, classes: int, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    dataset = opened(name, tmp_path)
    assert dataset.task == Task("node", "multi-class", classes, "accuracy")
    assert (len(dataset), dataset.num_nodes, dataset.num_edges) == (1, nodes, edges)
    assert parts(dataset) == sizes
    assert dataset.x is not None
    assert dataset.x.shape == (nodes, features)
    assert dataset.x.dtype == torch.float32
    train = dataset.y[dataset.split["train"]]
    assert train.bincount().tolist() == [20] * classes
