"""Batches of graphs: PyG's own, drawn by seed and epoch, and shared among ranks."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from deepergcn.data import Dataset, GraphLoader
from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN
from deepergcn.ops import Adjacency
from tests.data.examples import assert_same_structure, one_network, two_molecules
from tests.data.generated import datasets


def many_graphs(count: int) -> Dataset:
    """Rings of 3 nodes; the feature of every node is the number of its graph."""
    return two_molecules(
        node_ptr=torch.arange(count + 1) * 3,
        edge_ptr=torch.arange(count + 1) * 3,
        edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]], dtype=torch.int32).repeat(1, count),
        x=torch.arange(count).repeat_interleave(3)[:, None],
        x_categories=(count,),
        edge_attr=torch.zeros(3 * count, 1, dtype=torch.uint8),
        y=torch.zeros(count, 2),
        split={"train": torch.arange(count), "valid": torch.arange(0), "test": torch.arange(0)},
    )


def drawn(loader: GraphLoader, epoch: int = 0) -> list[list[int]]:
    return [batch.item.tolist() for batch in loader.batches(epoch)]


@given(datasets(), st.integers(0, 2**32 - 1))
def test_batch_is_that_of_pyg(dataset: Dataset, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = rng.integers(len(dataset), size=rng.integers(1, 6))
    found = GraphLoader(dataset).collate(graphs)
    expected = Batch.from_data_list([dataset.graph(i) for i in graphs.tolist()])
    for name in expected.keys():  # noqa: SIM118
        if name == "num_nodes":
            assert found.num_nodes == expected.num_nodes
            continue
        left, right = found[name], expected[name]
        assert left.dtype == right.dtype, name
        assert torch.equal(left.nan_to_num(-7.0), right.nan_to_num(-7.0)), name
    assert found.num_graphs == expected.num_graphs
    assert set(found.keys()) - set(expected.keys()) == {
        "adjacency",
        "item",
        *(("train_mask", "valid_mask", "test_mask") if dataset.task.level == "node" else ()),
    }


@given(datasets())
def test_adjacency_is_that_of_the_edges(dataset: Dataset) -> None:
    batch = GraphLoader(dataset).collate(range(len(dataset)))
    assert_same_structure(batch.adjacency, Adjacency.from_edge_index(batch.edge_index, batch.num_nodes))


@given(st.integers(1, 30), st.integers(1, 7), st.integers(1, 4), st.booleans(), st.booleans())
def test_ranks_share_the_graphs(count: int, size: int, ranks: int, shuffle: bool, drop_last: bool) -> None:
    options: dict[str, Any] = {"batch_size": size, "shuffle": shuffle, "drop_last": drop_last, "world_size": ranks}
    loaders = [GraphLoader(many_graphs(count), rank=rank, **options) for rank in range(ranks)]
    epochs = [drawn(loader, 3) for loader in loaders]
    assert {len(batches) for batches in epochs} == {len(loaders[0])}
    taken = [item for batches in epochs for batch in batches for item in batch]
    assert all(1 <= len(batch) <= size for batches in epochs for batch in batches)
    steps = [size] * (count // size) + ([] if drop_last or count % size == 0 else [count % size])
    assert len(set(taken)) == sum(steps)
    assert len(taken) == sum(max(step, ranks) for step in steps)
    labels = [batch.y for loader in loaders for batch in loader.batches(3)]
    assert sum(int((~y.isnan()).all(1).sum()) for y in labels) == sum(steps)  # repeated graphs have none


def test_order_depends_on_seed_and_epoch_alone() -> None:
    loader = GraphLoader(many_graphs(50), batch_size=8, shuffle=True, seed=4)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    first = drawn(loader, 2)
    drawn(loader, 3)
    assert drawn(GraphLoader(many_graphs(50), batch_size=8, shuffle=True, seed=4), 2) == first
    assert drawn(loader, 2) == first
    assert drawn(loader, 3) != first
    assert drawn(GraphLoader(many_graphs(50), batch_size=8, shuffle=True, seed=5), 2) != first


def test_order_is_that_of_the_given_graphs_without_shuffling() -> None:
    loader = GraphLoader(many_graphs(9), torch.tensor([7, 1, 4]), batch_size=2)
    assert drawn(loader) == [[7, 1], [4]]
    assert next(loader.batches()).x[:, 0].tolist() == [7, 7, 7, 1, 1, 1]
    assert len(GraphLoader(many_graphs(9), torch.arange(0))) == 0


def test_masks_tell_the_part_of_every_node() -> None:
    batch = GraphLoader(one_network()).collate([0])
    assert batch.train_mask.tolist() == [True, False, False, False]
    assert batch.valid_mask.tolist() == [False, False, False, True]
    assert batch.test_mask.tolist() == [False, True, False, False]
    assert batch.item.tolist() == [0, 1, 2, 3]


def test_batch_takes_its_adjacency_along() -> None:
    batch = GraphLoader(two_molecules()).collate([0, 1])
    structure = batch.adjacency
    assert batch.clone().adjacency.num_edges == 6
    moved = batch.to("meta")
    assert {moved.x.device.type, moved.adjacency.source.device.type, moved.adjacency.edge_t.device.type} == {"meta"}
    assert structure.device.type == "cpu"


def test_network_runs_on_a_batch() -> None:
    batch = GraphLoader(two_molecules()).collate([1, 0, 1])
    network = DeeperGCN(
        (9, 2), 2, hidden_channels=8, num_layers=3, layer_edge_encoder=(3,), level="graph", norm="layer"
    ).eval()
    together = network(batch)
    alone = torch.cat([network(GraphLoader(two_molecules()).collate([i])) for i in (1, 0, 1)])
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0; expected at least 1"),
        ({"graphs": torch.tensor([2])}, "graphs are from 2 to 2; expected 0 to 1"),
        ({"graphs": torch.tensor([0.0])}, r"graphs are torch.float32 \[1\]; expected int64"),
        ({"seed": -1}, "seed is -1; expected an integer of at least 0"),
        ({"rank": 2, "world_size": 2}, "rank is 2; expected 0 to 1"),
        ({"world_size": 0}, "world_size is 0; expected at least 1"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GraphLoader(two_molecules(), **options)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "graphs: the list is empty"),
        ([0, 2], "graphs are from 0 to 2; expected 0 to 1"),
        ([-1], "graphs are from -1 to -1"),
    ],
)
def test_graphs_that_are_not_there(graphs: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GraphLoader(two_molecules()).collate(graphs)
