"""Partitions: every node in one part, every edge between nodes of a part, and draws that can be drawn again."""

import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepergcn.data import ClusterPartitions, Dataset, OutputMean, RandomPartitions, WholeGraph
from deepergcn.data.batching import vertex_order
from deepergcn.data.batching.subgraphs import induced
from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN
from deepergcn.ops import Adjacency
from tests.data.examples import assert_same_structure, one_network, two_molecules


def network(nodes: int, edges: int, *, symmetric: bool = True, seed: int = 0, **changes: Any) -> Dataset:
    """Any graph, loops and double edges included; the features of a node and of an edge are numbers of their own."""
    rng = np.random.default_rng(seed)
    order = torch.from_numpy(rng.permutation(nodes))
    fields: dict[str, Any] = {
        "node_ptr": torch.tensor([0, nodes]),
        "edge_ptr": torch.tensor([0, edges]),
        "edge_index": torch.from_numpy(rng.integers(nodes, size=(2, edges), dtype=np.int32)),
        "symmetric": symmetric,
        "x": torch.arange(nodes, dtype=torch.float32)[:, None],
        "edge_attr": torch.arange(edges, dtype=torch.float32)[:, None] * torch.tensor([1.0, -1.0]),
        "y": torch.arange(nodes) % 3,
        "split": {
            "train": order[: nodes // 2],
            "valid": order[nodes // 2 : nodes // 2 + 1],
            "test": order[nodes // 2 + 1 :],
        },
        "node_extra": {"year": torch.arange(nodes) + 2000},
    }
    return one_network(**{**fields, **changes})


def two_clusters() -> Dataset:
    """Two cliques of 20 nodes with one edge between them; even nodes are in the one, odd nodes in the other."""
    pairs = [(u, v) for u in range(40) for v in range(u + 1, 40) if u % 2 == v % 2] + [(0, 1)]
    edge_index = torch.tensor(pairs, dtype=torch.int32).T.contiguous()
    return network(40, len(pairs), edge_index=edge_index)


@given(
    st.integers(1, 30), st.integers(0, 80), st.integers(1, 6), st.booleans(), st.booleans(), st.integers(0, 2**32 - 1)
)
def test_subgraphs_are_the_induced_ones(
    nodes: int, edges: int, parts: int, symmetric: bool, bare: bool, seed: int
) -> None:
    dataset = network(nodes, edges, symmetric=symmetric, seed=seed)
    if bare:
        dataset = dataset.replace(x=None, edge_attr=None)
    assignment = torch.from_numpy(np.random.default_rng(seed).integers(parts, size=nodes))
    graph = dataset.graph(0)
    batches = list(induced(dataset, assignment))
    assert torch.equal(torch.cat([b.item for b in batches]).sort()[0], torch.arange(nodes))
    for part, batch in enumerate(batches):
        node = (assignment == part).nonzero()[:, 0]
        assert torch.equal(batch.item, node)
        inside = (assignment[graph.edge_index] == part).all(0)
        assert torch.equal(node[batch.edge_index], graph.edge_index[:, inside])
        if bare:
            assert batch.x is None
            assert batch.edge_attr is None
        else:
            assert torch.equal(batch.x, graph.x[node])
            assert torch.equal(batch.edge_attr, graph.edge_attr[inside])
        assert torch.equal(batch.y, graph.y[node])
        assert torch.equal(batch.year, graph.year[node])
        for name in ("train", "valid", "test"):
            assert torch.equal(batch[f"{name}_mask"], torch.isin(node, dataset.split[name]))
        assert_same_structure(batch.adjacency, Adjacency.from_edge_index(batch.edge_index, len(node)))


def test_many_pieces_and_many_parts_keep_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepergcn.data.batching.subgraphs.PIECE", 7)
    dataset = network(400, 1000)
    assignment = torch.arange(400) % 300
    edge_index = dataset.graph(0).edge_index
    for part, batch in enumerate(induced(dataset, assignment)):
        inside = (assignment[edge_index] == part).all(0)
        assert torch.equal(batch.item[batch.edge_index], edge_index[:, inside])


@given(st.integers(1, 40), st.data())
def test_no_part_is_empty(nodes: int, data: st.DataObject) -> None:
    parts = data.draw(st.integers(1, nodes))
    assignment = RandomPartitions(network(nodes, 10), parts, seed=data.draw(st.integers(0, 99))).assignment(epoch=3)
    assert assignment.unique().tolist() == list(range(parts))


def test_every_part_is_as_likely() -> None:
    assignment = RandomPartitions(network(50_000, 10), 10).assignment(0)
    # Five standard deviations of a binomial distribution.
    assert (assignment.bincount() - 5_000).abs().max() < 5 * (50_000 * 0.1 * 0.9) ** 0.5


def test_draw_depends_on_seed_and_epoch_alone() -> None:
    dataset = network(50, 100)
    first = RandomPartitions(dataset, 4, seed=7).assignment(5)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    resumed = RandomPartitions(dataset, 4, seed=7)
    assert torch.equal(resumed.assignment(5), first)
    assert not torch.equal(resumed.assignment(6), first)
    assert not torch.equal(RandomPartitions(dataset, 4, seed=8).assignment(5), first)
    items = [batch.item for batch in resumed.batches(5)]
    assert [first[item].unique().tolist() for item in items] == [[0], [1], [2], [3]]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 7])
def test_ranks_share_the_parts(ranks: int) -> None:
    dataset = network(50, 100)
    shares = [RandomPartitions(dataset, 5, rank=rank, world_size=ranks) for rank in range(ranks)]
    assignment = shares[0].assignment(0)
    parts = [[int(assignment[batch.item[0]]) for batch in share.batches(0)] for share in shares]
    assert {len(mine) for mine in parts} == {len(shares[0])} == {-(-5 // ranks)}
    assert {part for mine in parts for part in mine} == set(range(5))


def test_clusters_have_few_edges_between_them() -> None:
    pytest.importorskip("pymetis")
    partitions = ClusterPartitions(two_clusters(), 2)
    items = [set(batch.item.tolist()) for batch in partitions.batches()]
    assert sorted(items, key=min) == [set(range(0, 40, 2)), set(range(1, 40, 2))]
    assert torch.equal(partitions.assignment(0), ClusterPartitions(two_clusters(), 2).assignment(9))


def test_order_of_clusters_is_drawn() -> None:
    pytest.importorskip("pymetis")
    partitions = ClusterPartitions(network(100, 500, symmetric=False), 8)
    orders = [[int(partitions.assignment(e)[b.item[0]]) for b in partitions.batches(e)] for e in (0, 1, 0)]
    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(partitions.parts))


def test_clusters_without_metis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(InputError, match=r"need the package pymetis; install deepergcn\[metis\]"):
        ClusterPartitions(two_clusters(), 2)


def test_whole_graph_is_one_batch_with_the_datasets_adjacency() -> None:
    dataset = network(10, 30)
    loader = WholeGraph(dataset)
    (batch,) = loader.batches(0)
    assert len(loader) == 1
    assert batch is next(loader.batches(1))
    assert batch.adjacency is dataset.adjacency()
    assert torch.equal(batch.edge_index, dataset.graph(0).edge_index)
    assert_same_structure(batch.adjacency, Adjacency.from_edge_index(batch.edge_index, 10))
    assert torch.equal(batch.item, torch.arange(10))


def test_neighbours_lie_beside_each_other_in_the_vertex_order() -> None:
    named = torch.tensor([5, 2, 0, 4, 1, 3])  # a path 5-2-0-4 and a pair 1-3, with edges in either direction
    edge_index = torch.stack([named[[0, 2, 2, 4]], named[[1, 1, 3, 5]]])
    order = vertex_order.vertex_order(Adjacency.from_edge_index(edge_index, 6))
    assert order.tolist() == [1, 3, 4, 0, 2, 5]


@pytest.mark.parametrize("symmetric", [False, True])
def test_large_graph_is_reordered_and_its_results_are_not(monkeypatch: pytest.MonkeyPatch, symmetric: bool) -> None:
    given = WholeGraph(network(30, 90, symmetric=symmetric)).batch
    monkeypatch.setattr(vertex_order, "LARGE", 30)
    batch = WholeGraph(network(30, 90, symmetric=symmetric)).batch
    assert batch.item.tolist() != list(range(30))
    assert sorted(batch.item.tolist()) == list(range(30))
    assert torch.equal(batch.item[batch.edge_index], given.edge_index)
    assert_same_structure(batch.adjacency, Adjacency.from_edge_index(batch.edge_index, 30))
    for name in ("x", "y", "train_mask", "valid_mask", "test_mask"):
        assert torch.equal(batch[name], given[name][batch.item])
    model = DeeperGCN(1, 3, hidden_channels=8, num_layers=3, edge_encoder=2, norm="layer").eval()
    torch.testing.assert_close(model(batch), model(given)[batch.item])


def test_network_runs_on_parts() -> None:
    dataset = network(30, 90)
    model = DeeperGCN(1, 3, hidden_channels=8, num_layers=3, edge_encoder=2, norm="layer").eval()
    for batch in RandomPartitions(dataset, 3).batches(0):
        assert model(batch).shape == (len(batch.item), 3)
    (whole,) = WholeGraph(dataset).batches()
    (part,) = RandomPartitions(dataset, 1).batches()
    torch.testing.assert_close(model(part), model(whole))


def test_outputs_are_averaged_over_draws() -> None:
    dataset = network(12, 30)
    partitions, mean = RandomPartitions(dataset, 3), OutputMean(12)
    for draw in range(4):
        for batch in partitions.batches(draw):
            mean.add(batch.item, batch.x * torch.tensor([1.0, 2.0]) + draw)
    expected = torch.arange(12.0)[:, None] * torch.tensor([1.0, 2.0]) + 1.5
    torch.testing.assert_close(mean.mean(), expected)
    assert mean.count.tolist() == [4] * 12


def test_item_without_output_has_no_mean() -> None:
    mean = OutputMean(3)
    mean.add(torch.tensor([2, 0]), torch.tensor([[1.0], [3.0]], dtype=torch.bfloat16))
    assert mean.mean()[[0, 2], 0].tolist() == [3.0, 1.0]
    assert mean.mean()[1].isnan().all()
    with pytest.raises(InputError, match=r"outputs have the shape \[2\]; expected \[2, 1\]"):
        mean.add(torch.tensor([0, 1]), torch.zeros(2))
    with pytest.raises(InputError, match=r"outputs have the shape \[1, 2\]; expected \[1, 1\]"):
        mean.add(torch.tensor([0]), torch.zeros(1, 2))
    with pytest.raises(InputError, match="items are from 3 to 3; expected 0 to 2"):
        mean.add(torch.tensor([3]), torch.zeros(1, 1))


@pytest.mark.parametrize("parts", [0, 5])
def test_wrong_number_of_parts(parts: int) -> None:
    with pytest.raises(InputError, match=f"parts is {parts}; expected 1 to 4, the number of nodes"):
        RandomPartitions(one_network(), parts)


def test_several_graphs_have_no_parts() -> None:
    with pytest.raises(InputError, match="two-molecules has 2 graphs and a task on graphs"):
        RandomPartitions(two_molecules(), 2)
    with pytest.raises(InputError, match="two-molecules has 2 graphs and a task on graphs"):
        WholeGraph(two_molecules())


def test_wrong_assignment() -> None:
    with pytest.raises(InputError, match=r"assignment is torch.int64 \[3\]; expected int64 \[4\]"):
        list(induced(one_network(), torch.zeros(3, dtype=torch.int64)))
    with pytest.raises(InputError, match="assignment has parts from -1 on; expected 0"):
        list(induced(one_network(), torch.tensor([0, 1, -1, 0])))
    with pytest.raises(InputError, match="the requested parts are from 0 to 2; expected 0 to 1"):
        list(induced(one_network(), torch.tensor([0, 1, 1, 0]), [0, 2]))
