"""Descriptors of whole graphs in a network."""

import pytest
import torch
from torch.testing import assert_close
from torch_geometric.data import Batch, Data

from deepergcn.errors import InputError
from deepergcn.inference.attribution import attribute
from deepergcn.nn import DeeperGCN
from deepergcn.nn.descriptors import DescriptorScale, DescriptorWidths

WIDTHS = DescriptorWidths(2, 3)


def batch(descriptors: torch.Tensor | None) -> Batch:
    torch.manual_seed(0)
    graphs = [Data(x=torch.randn(n, 4), edge_index=torch.randint(n, (2, 2 * n))) for n in (3, 5)]
    made = Batch.from_data_list(graphs)
    if descriptors is not None:
        made.descriptors = descriptors
    return made


def network() -> DeeperGCN:
    torch.manual_seed(1)
    return DeeperGCN(4, 2, hidden_channels=8, num_layers=2, level="graph", norm=None, descriptors=WIDTHS).eval()


def test_numbers_are_scaled_by_what_was_fitted_and_unknown_ones_are_the_mean() -> None:
    scale = DescriptorScale(WIDTHS)
    scale.fit(torch.tensor([[0.0, 5.0, 1.0], [2.0, 5.0, torch.nan], [4.0, 5.0, 3.0]]))
    out = scale(torch.tensor([[3.0, 0.0, 2.0, 6.0, torch.nan], [1.0, 7.0, 1e6, 5.0, 3.0]]))
    assert_close(out[0], torch.tensor([2.0, 0.0, 0.0, 1.0, 0.0]))
    assert_close(out[1], torch.tensor([1.0, 3.0, 5.0, 0.0, 1.0]))


def test_they_are_joined_to_the_pooled_vector_and_reach_the_output() -> None:
    model = network()
    values = torch.tensor([[1.0, 0, 0, 1, 2], [0, 0, 1, 0, -1]])
    embedded = model.embed(batch(values))
    assert embedded.shape == (2, 16)
    other = model.embed(batch(values + 1))
    assert_close(embedded[:, :8], other[:, :8])
    assert not torch.equal(model(batch(values)), model(batch(values + 1)))


@pytest.mark.parametrize("descriptors", [None, torch.zeros(2, 4), torch.zeros(1, 5)])
def test_missing_or_other_descriptors_are_refused(descriptors: torch.Tensor | None) -> None:
    with pytest.raises(InputError, match=r"descriptors: expected a floating-point tensor \[2, 5\]"):
        network()(batch(descriptors))


def test_they_are_of_graphs_only() -> None:
    with pytest.raises(InputError, match="at the level of nodes"):
        DeeperGCN(4, 2, hidden_channels=8, num_layers=2, descriptors=WIDTHS)


def test_their_contribution_is_part_of_the_sum() -> None:
    model = network().double()
    data = batch(torch.tensor([[1.0, 0, 0, 1, 2], [3, 0, 1, 0, -1]]))
    data.x, data.descriptors = data.x.double(), data.descriptors.double()
    found = attribute(model, data, torch.tensor([0, 1]))
    total = torch.zeros(2, dtype=torch.float64).index_add_(0, data.batch, found.nodes)
    total.index_add_(0, data.batch[data.edge_index[1]], found.edges)
    assert found.descriptors.shape == data.descriptors.shape
    assert_close(total + found.descriptors.sum(1) + found.residual, found.output - found.baseline)
    assert bool((found.descriptors.sum(1) != 0).all())
    assert not bool(found.descriptors[:, 1].any())  # a count of 0 contributes nothing
    assert bool((found.residual.abs() <= 0.02 * (found.output - found.baseline).abs()).all())
