"""GraphSAINT's subgraphs: what walks reach, drawn again by seed and epoch, with weights that undo their bias."""

import numpy as np
import pytest
import torch

from deepergcn.data.batching.saint import WALK, WalkSubgraphs
from deepergcn.data.batching.sources import batch_source
from deepergcn.data.dataset import Dataset
from tests.data.batching.test_partitions import network


def star() -> Dataset:
    """30 nodes around node 0, and 29 that no edge reaches."""
    edge_index = torch.stack([torch.zeros(30, dtype=torch.int32), torch.arange(1, 31, dtype=torch.int32)])
    nodes = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    split = {"train": nodes[:58], "valid": nodes[58:59], "test": nodes[59:]}
    return network(60, 30, edge_index=edge_index, split=split)


def test_a_batch_is_the_subgraph_of_what_the_walks_visit() -> None:
    dataset = network(200, 300)
    source = WalkSubgraphs(dataset, 5, seed=3)
    batches = list(source.batches(epoch=4))
    assert len(batches) == 5
    for number, batch in enumerate(batches):
        visited = source.draw(np.random.default_rng([3, 4, number]))
        assert batch.item.tolist() == visited.tolist()
        assert source.walks <= len(visited) <= source.walks * (WALK + 1)
        inside = torch.isin(dataset.edge_index, batch.item).all(0)
        assert batch.edge_index.shape[1] == 2 * int(inside.sum())
    again = list(WalkSubgraphs(dataset, 5, seed=3).batches(epoch=4))
    assert all(torch.equal(a.item, b.item) for a, b in zip(batches, again, strict=True))
    assert not torch.equal(next(source.batches(epoch=5)).item, batches[0].item)


def test_walks_follow_edges_and_stay_where_there_are_none() -> None:
    source = WalkSubgraphs(star(), 4, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(50):
        visited = source.draw(rng)
        assert 0 in visited or (visited > 30).all()  # every walk from a leaf goes to the centre


def test_the_weighted_mean_of_batches_is_that_of_the_train_part() -> None:
    dataset = star()
    source = WalkSubgraphs(dataset, 4)
    values = torch.zeros(60)
    values[0] = 1.0  # the centre, which nearly every batch has
    train = dataset.split["train"]
    expected = float(values[train].mean())
    found, plain = [], []
    for epoch in range(100):
        for batch in source.batches(epoch):
            kept = batch.item[batch.train_mask]
            found.append(float((batch.loss_weight[batch.train_mask] * values[kept]).sum()))
            plain.append(float(values[kept].sum()))
    mean_size = np.mean([len(source.draw(np.random.default_rng(i))) for i in range(200)]) * len(train) / 60
    error = 5 * np.std(found) / np.sqrt(len(found)) / mean_size
    # The probabilities themselves are estimated, from 200 draws: a relative error of 5 / sqrt(200 p / (1 - p)).
    assert np.mean(found) / mean_size == pytest.approx(expected, abs=error + 0.2 * expected)
    assert np.mean(plain) / mean_size > 2 * expected


def test_the_recipe_names_it() -> None:
    assert isinstance(batch_source(network(30, 60), seed=0, partitions=3, partitioning="saint"), WalkSubgraphs)


def test_an_empty_graph_has_walks_of_one_node() -> None:
    batch = next(WalkSubgraphs(network(6, 0), 2).batches(0))
    assert batch.edge_index.shape == (2, 0)
    assert batch.num_nodes == 1
