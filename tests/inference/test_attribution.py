"""Integrated gradients: contributions add up, and what causes an output is found."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from torch_geometric.data import Batch, Data

from deepergcn.errors import InputError
from deepergcn.inference.attribution import attribute
from deepergcn.inference.domain import TrainingDomain
from deepergcn.nn import GCN, DeeperGCN, RevGEN
from deepergcn.nn.networks.graph_network import GraphNetwork


def graphs(seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for nodes in (4, 7, 1):
        edges = torch.randint(nodes, (2, 3 * nodes), generator=generator) if nodes > 1 else torch.empty(2, 0).long()
        x = torch.randn(nodes, 5, generator=generator, dtype=torch.float64)
        parts.append(Data(x=x, edge_index=edges, edge_attr=torch.randn(edges.shape[1], 2, dtype=torch.float64)))
    return Batch.from_data_list(parts)


def network(**options: Any) -> GraphNetwork:
    torch.manual_seed(0)
    model = DeeperGCN(5, 2, hidden_channels=8, num_layers=3, level="graph", layer_edge_encoder=2, **options)
    return model.double()


@pytest.mark.parametrize("options", [{"learn_beta": True}, {"aggr": "power_mean", "p": 2.0, "virtual_node": True}])
def test_contributions_add_up_to_the_output_minus_the_baseline(options: dict[str, Any]) -> None:
    model, batch = network(dropout=0.5, **options), graphs()
    model.train()
    found = attribute(model, batch, torch.tensor([0, 1, 0]))
    assert model.training
    sums = torch.zeros(3, dtype=torch.float64).index_add_(0, batch.batch, found.nodes)
    sums.index_add_(0, batch.batch[batch.edge_index[1]], found.edges)
    assert_close(sums + found.residual, found.output - found.baseline)
    assert bool((found.residual.abs() <= 0.03 * (found.output - found.baseline).abs()).all())
    expected: Tensor = model.eval()(batch).gather(1, torch.tensor([[0], [1], [0]]))[:, 0]
    assert_close(found.output, expected)
    assert bool((found.edges != 0).any())


def test_graphs_of_a_batch_do_not_change_each_other() -> None:
    model, batch = network(), graphs()
    together = attribute(model, batch, torch.tensor([0, 0, 0]))
    alone = attribute(model, Batch.from_data_list([batch[1]]), torch.tensor([0]))
    assert_close(together.nodes[4:11], alone.nodes, rtol=0.02, atol=1e-3)


def test_the_planted_cause_is_found() -> None:
    """The output is whether a graph has a node with a large first feature; the network learns it, and is asked why."""
    torch.manual_seed(0)
    model = DeeperGCN(3, 1, hidden_channels=16, num_layers=2, level="graph", pooling="max", norm=None, aggr="max")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def sample(cause: int | None, seed: int) -> Data:
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(6, 3, generator=generator)
        x[:, 0] = 0
        if cause is not None:
            x[cause, 0] = 3
        ring = torch.arange(6)
        return Data(x=x, edge_index=torch.stack([ring, (ring + 1) % 6]), y=torch.tensor([float(cause is not None)]))

    train = Batch.from_data_list([sample(i % 6 if i % 2 else None, i) for i in range(64)])
    for _ in range(60):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(train)[:, 0], train.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.1
    for cause in range(6):
        one = Batch.from_data_list([sample(cause, 1000 + cause)])
        found = attribute(model, one, torch.tensor([0]))
        of_edges = torch.zeros(6).index_add_(0, one.edge_index[0], found.edges)
        assert int((found.nodes + of_edges).argmax()) == cause


def test_nodes_are_explained_in_their_graph_by_any_network() -> None:
    torch.manual_seed(0)
    x, edges = torch.randn(9, 5).double(), torch.randint(9, (2, 30))
    data = Data(x=x, edge_index=edges)
    for model in (
        DeeperGCN(5, 2, hidden_channels=8, num_layers=2).double(),
        RevGEN(5, 2, hidden_channels=8, num_layers=3, norm="layer").double(),
        GCN(5, 2, hidden_channels=8, num_layers=2).double(),
    ):
        found = attribute(model, data, torch.tensor([1]), item=4)
        assert_close(found.output, model.eval()(data)[4, 1:2])
        total = found.nodes.sum() + found.edges.sum() + found.residual
        assert_close(total[None] if total.dim() == 0 else total, found.output - found.baseline)


def test_what_cannot_be_explained_is_said() -> None:
    batch = graphs()
    with pytest.raises(InputError, match="item: expected the number of a node"):
        attribute(network(), batch, torch.tensor([0, 0, 0]), item=2)
    with pytest.raises(InputError, match="expected a network with a node encoder"):
        attribute(DeeperGCN(None, 1, hidden_channels=5, num_layers=1, level="graph"), batch, torch.tensor([0, 0, 0]))


def test_the_domain_knows_its_own_and_flags_strangers() -> None:
    points = torch.randn(400, 6, generator=torch.Generator().manual_seed(0))
    domain = TrainingDomain(points)
    near = domain.neighbours(torch.cat([points[:5], torch.full((1, 6), 30.0)]))
    assert near.numbers[:5, 0].tolist() == [0, 1, 2, 3, 4]
    assert_close(near.distances[:5, 0], torch.zeros(5), atol=1e-2, rtol=0)
    assert near.outside.tolist() == [False] * 5 + [True]
    assert bool((near.distances.diff(dim=1) >= 0).all())
    again = torch.randn(400, 6, generator=torch.Generator().manual_seed(1))
    assert float(domain.neighbours(again).outside.float().mean()) < 0.05
    with pytest.raises(InputError, match="expected finite numbers"):
        TrainingDomain(torch.tensor([[1.0], [float("nan")]]))
