"""Networks that predict: other ways to the same numbers."""

import pytest
import torch

from deepergcn.nn import DyResGEN
from deepergcn.nn.encoders.tables import Tables
from deepergcn.ops.path import forward_only


@pytest.mark.parametrize("virtual_node", [False, True])
def test_a_network_of_molecules(virtual_node: bool) -> None:
    torch.manual_seed(0)
    sizes, bonds, atoms = (5, 3), (4, 2), 30
    network = DyResGEN(
        sizes,
        2,
        hidden_channels=16,
        num_layers=4,
        layer_edge_encoder=bonds,
        level="graph",
        norm="batch",
        virtual_node=virtual_node,
    )
    batch = torch.arange(atoms) // 10
    edge_index = torch.randint(10, (2, 80)) + 10 * (torch.arange(80) % 3)
    x = torch.stack([torch.randint(size, (atoms,)) for size in sizes], dim=1)
    edge_attr = torch.stack([torch.randint(size, (80,)) for size in bonds], dim=1)
    network(x, edge_index, edge_attr, batch)  # so that the running moments are not those of the beginning
    network.eval()
    kept = network(x, edge_index, edge_attr, batch, 3)
    with torch.no_grad(), forward_only():
        alone = network(x, edge_index, edge_attr, batch, 3)
    assert kept.requires_grad
    torch.testing.assert_close(alone, kept.detach(), rtol=1e-5, atol=1e-5)
    with torch.no_grad():  # as in the first pass of layers that are computed again
        assert torch.equal(network(x, edge_index, edge_attr, batch, 3), kept)


def test_embedding_tables() -> None:
    tables = Tables("x", (5, 3, 2), 8)
    categories = torch.stack([torch.randint(size, (40,)) for size in tables.sizes], dim=1)
    with torch.no_grad(), forward_only():
        alone = tables(categories)
    torch.testing.assert_close(alone, tables(categories).detach(), rtol=1e-6, atol=1e-6)
