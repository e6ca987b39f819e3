"""DropEdge: fewer edges with their features, by a generator, in a batch of its own."""

import torch

from deepergcn.data.batching.drop_edge import drop_edges
from deepergcn.data.batching.partitions import WholeGraph
from tests.data.batching.test_partitions import network


def test_edges_leave_with_their_features_and_the_batch_stays() -> None:
    batch = WholeGraph(network(50, 4000)).batch
    before = {name: value for name, value in batch.to_dict().items() if isinstance(value, torch.Tensor)}
    dropped = drop_edges(batch, 0.25, torch.Generator().manual_seed(1))
    edges = dropped.edge_index.shape[1]
    assert abs(edges - 0.75 * 8000) < 5 * (8000 * 0.25 * 0.75) ** 0.5  # five standard deviations
    rows = {tuple(row) for row in torch.cat([batch.edge_index.T.float(), batch.edge_attr], dim=1).tolist()}
    assert {tuple(row) for row in torch.cat([dropped.edge_index.T.float(), dropped.edge_attr], dim=1).tolist()} <= rows
    assert dropped.adjacency.num_edges == edges
    assert torch.equal(dropped.adjacency.edge_index(), dropped.edge_index)
    assert all(batch[name] is value for name, value in before.items())
    again = drop_edges(batch, 0.25, torch.Generator().manual_seed(1))
    assert torch.equal(again.edge_index, dropped.edge_index)


def test_without_edge_features() -> None:
    batch = WholeGraph(network(5, 9, edge_attr=None)).batch
    assert drop_edges(batch, 0.5, torch.Generator()).edge_attr is None
