"""The generated network of proteins: its schema, its bytes, its statistics, and that depth helps."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from deepergcn.data import Dataset, apply_transforms, load_dataset
from deepergcn.data.kernels.jit import in_pieces
from deepergcn.data.synthetic.proteins import EDGES, NODES, default_edges, species_sizes, synthetic_proteins
from deepergcn.errors import InputError
from tests.data.examples import assert_same


@cache
def proteins(nodes: int, seed: int = 0) -> Dataset:
    return synthetic_proteins(nodes, default_edges(nodes), seed, "made here")


@pytest.mark.parametrize(("nodes", "edges"), [(16, 24), (16, 60), (40, 48), (300, 20_000), (1000, None)])
def test_schema_at_any_size(nodes: int, edges: int | None, tmp_path: Path) -> None:
    options = {"nodes": nodes} if edges is None else {"nodes": nodes, "edges": edges}
    dataset = load_dataset("synthetic-proteins", tmp_path, **options)
    assert dataset.num_nodes == nodes
    assert dataset.num_edges == (4 * nodes if edges is None else edges)
    assert dataset.symmetric
    assert dataset.x is None
    assert (dataset.task.kind, dataset.task.outputs, dataset.task.metric) == ("multi-label", 112, "rocauc")
    low, high = dataset.edge_index.long()
    assert bool((low < high).all())
    assert len((low * nodes + high).unique()) == dataset.num_edges
    assert dataset.edge_attr is not None
    assert dataset.edge_attr.shape == (dataset.num_edges, 8)
    assert bool((dataset.edge_attr >= 0).all())
    assert bool((dataset.edge_attr <= 1).all())
    assert bool((dataset.edge_attr > 0).any(1).all())
    assert bool(((dataset.y == 0) | (dataset.y == 1)).all())


def test_split_is_by_species_in_the_proportions_of_ogbn_proteins() -> None:
    dataset = proteins(6000)
    species = dataset.node_extra["species"]
    parts = {part: set(species[index].tolist()) for part, index in dataset.split.items()}
    assert parts["valid"] == {10090}
    assert parts["test"] == {7955}
    assert parts["train"] == {3702, 4932, 6239, 7227, 9606, 511145}
    assert sum(map(len, dataset.split.values())) == 6000
    for part, share in (("train", 86_619), ("valid", 21_236), ("test", 24_679)):
        assert abs(len(dataset.split[part]) / 6000 - share / 132_534) < 0.003


def test_true_size_is_that_of_ogbn_proteins() -> None:
    assert (NODES, default_edges(NODES)) == (132_534, EDGES) == (132_534, 39_561_252)
    sizes = dict(zip((3702, 4932, 6239, 7227, 7955, 9606, 10090, 511145), species_sizes(NODES).tolist(), strict=True))
    assert (sizes[10090], sizes[7955], sum(sizes.values())) == (21_236, 24_679, 132_534)


@given(st.integers(16, 2000))
def test_every_species_has_two_nodes_at_least(nodes: int) -> None:
    assert species_sizes(nodes).sum() == nodes
    assert species_sizes(nodes).min() >= 2


def test_same_seed_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    first = proteins(700)
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)

    def in_small_pieces(count: int, work: Callable[[int, int], None], piece: int = 194) -> None:
        in_pieces(count, work, piece // 2)

    monkeypatch.setattr("deepergcn.data.synthetic.proteins.in_pieces", in_small_pieces)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert_same(synthetic_proteins(700, default_edges(700), 0, "again"), first)
    finally:
        torch.set_num_threads(threads)
    other = proteins(700, seed=1)
    assert not torch.equal(other.edge_index, first.edge_index)
    assert not torch.equal(other.y, first.y)


def test_cache_is_opened_and_holds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_dataset("synthetic-proteins", tmp_path, nodes=60)
    monkeypatch.setattr("deepergcn.data.synthetic.proteins.synthetic_proteins", None)
    assert_same(load_dataset("synthetic-proteins", tmp_path, nodes=60), first)
    assert first.digest == load_dataset("synthetic-proteins", tmp_path, nodes=60).digest


def test_all_nodes_are_connected() -> None:
    dataset = proteins(1000)
    low, high = dataset.edge_index.long()
    reached = torch.zeros(1000, dtype=torch.bool)
    reached[0] = True
    for _ in range(1000):
        before = int(reached.sum())
        reached[high[reached[low]]] = True
        reached[low[reached[high]]] = True
        if int(reached.sum()) == before:
            break
    assert bool(reached.all())


def test_degrees_have_a_heavy_tail() -> None:
    dataset = proteins(6000)
    degree = dataset.edge_index.flatten().bincount(minlength=6000).double()
    assert degree.mean() == 2 * dataset.num_edges / 6000
    assert degree.min() >= 2
    assert 0.55 < degree.median() / degree.mean() < 0.85
    assert degree.quantile(0.99) > 3.5 * degree.mean()
    assert degree.max() > 6 * degree.mean()


def test_functions_are_rare_varied_and_in_families() -> None:
    dataset = proteins(6000)
    share = dataset.y.mean(0)
    assert share.min() > 0.005
    assert share.max() < 0.5
    assert 0.03 < share.median() < 0.1
    families = dataset.y.view(6000, 16, 7)
    for child in range(1, 7):
        assert bool((families[:, :, child] <= families[:, :, (child - 1) // 2]).all())
    for species in dataset.node_extra["species"].unique():
        positives = dataset.y[dataset.node_extra["species"] == species].sum(0)
        assert bool((positives >= 1).all())


def neighbour_means(dataset: Dataset, hops: int) -> list[Tensor]:
    """The mean features of every node's edges, and their means over the neighbours, weighted by the evidence."""
    changed = apply_transforms(dataset, [{"name": "node-features-from-edges", "reduce": "mean"}])
    graph = changed.graph(0)
    source, target = graph.edge_index
    weight = (graph.edge_attr**3).sum(1, keepdim=True)
    total = torch.zeros(dataset.num_nodes, 1).index_add_(0, target, weight)
    means = [graph.x]
    for _ in range(hops):
        heard = torch.zeros_like(graph.x).index_add_(0, target, weight * means[-1][source])
        means.append(heard / total)
    return means


def linear_score(features: list[Tensor], dataset: Dataset) -> float:
    """The mean ROC-AUC on the test species of linear functions that are fitted to the train species."""
    x = torch.cat(features, dim=1).double().numpy()
    species = dataset.node_extra["species"].numpy()
    for one in np.unique(species):
        inside = species == one
        x[inside] = (x[inside] - x[inside].mean(0)) / x[inside].std(0)
    x = np.concatenate((x, np.ones((len(x), 1))), axis=1)
    y = dataset.y.numpy()
    train, test = dataset.split["train"].numpy(), dataset.split["test"].numpy()
    fitted = np.linalg.solve(x[train].T @ x[train] + np.eye(x.shape[1]), x[train].T @ y[train])
    return float(np.mean([roc_auc(s, t) for s, t in zip((x[test] @ fitted).T, y[test].T, strict=True)]))


def roc_auc(score: npt.NDArray[Any], truth: npt.NDArray[Any]) -> float:
    rank = np.empty(len(score))
    rank[np.argsort(score)] = np.arange(1, len(score) + 1)
    positives = truth.sum()
    return float((rank[truth > 0].sum() - positives * (positives + 1) / 2) / (positives * (len(truth) - positives)))


def test_depth_helps() -> None:
    """What is around a protein says little about its functions, and every hop farther says more."""
    dataset = proteins(6000)
    means = neighbour_means(dataset, 8)
    scores = [linear_score(means[: hops + 1], dataset) for hops in range(9)]
    assert 0.6 < scores[0] < 0.7
    for hops in range(1, 7):
        assert scores[hops] > scores[hops - 1] + 0.01
    assert scores[6] > scores[2] + 0.12
    assert scores[6] < scores[8] < 0.95


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 15}, "nodes is 15; expected an integer of at least 16"),
        ({"nodes": 100.0}, "option 'nodes' is 100.0; Input should be a valid integer"),
        ({"nodes": 100, "edges": 107}, "edges is 107; expected an integer of at least 108"),
        ({"nodes": 100, "edges": 2476}, "edges is 2476; expected at most half of all pairs of 100 nodes"),
        ({"nodes": 10**9}, "synthetic-proteins: 1000000000 nodes and .* edges: needs .* GB of memory"),
        ({"nodes": 10**10, "edges": 10**12}, "1000000000000 edges: needs 36,360 GB of memory"),
        ({"nodes": 10**400}, "nodes is 1000.*; expected an integer of at most 64 bits"),
        ({"nodes": 100, "seed": -1}, "seed is -1; expected an integer of at least 0"),
        ({"graphs": 3}, "synthetic-proteins: has no option 'graphs'; its options: nodes, edges, seed"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_dataset("synthetic-proteins", tmp_path, **options)
