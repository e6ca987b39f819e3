"""Widths of -1 are taken from the first input, as in PyTorch Geometric."""

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN, GENConv, RevGEN, num_parameters
from tests.nn.pyg.models import EDGES

X, EDGE = torch.rand(7, 3), torch.rand(10, 4)


def lazy_network() -> DeeperGCN:
    return DeeperGCN(-1, 2, hidden_channels=8, num_layers=2, edge_encoder=-1, layer_edge_encoder=-1, norm="layer")


def test_the_first_input_gives_the_widths() -> None:
    conv = GENConv((-1, -1), 8, edge_encoder=-1)
    conv((X, torch.rand(7, 5)), EDGES, EDGE)
    shapes = {name: tuple(value.shape) for name, value in conv.named_parameters() if "mlp" not in name}
    assert shapes == {
        "source_projection.weight": (8, 3),
        "source_projection.bias": (8,),
        "target_projection.weight": (8, 5),
        "target_projection.bias": (8,),
        "edge_encoder.linear.weight": (8, 4),
        "edge_encoder.linear.bias": (8,),
    }
    with pytest.raises(InputError, match=r"x: expected floating-point source features \[nodes, 3\]"):
        conv((torch.rand(7, 2), torch.rand(7, 5)), EDGES, EDGE)
    with pytest.raises(InputError, match=r"edge_attr: expected a floating-point tensor \[edges, 4\]"):
        conv((X, torch.rand(7, 5)), EDGES, torch.rand(10, 2))


def test_a_network_is_that_of_its_widths() -> None:
    model = lazy_network()
    with pytest.raises(InputError, match=r"node_encoder\.linear\.weight: its width is not known yet"):
        num_parameters(model)
    model(X, EDGES, EDGE)
    other = DeeperGCN(3, 2, hidden_channels=8, num_layers=2, edge_encoder=4, layer_edge_encoder=8, norm="layer")
    assert num_parameters(model) == num_parameters(other)
    other.load_state_dict(model.state_dict())
    assert_close(other(X, EDGES, EDGE), model(X, EDGES, EDGE))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_weights_load_into_a_copy_that_has_seen_nothing(again: Any) -> None:
    model = lazy_network()
    other = again(model)
    model(X, EDGES, EDGE)
    assert isinstance(other.node_encoder.linear.weight, nn.UninitializedParameter)
    other.load_state_dict(model.state_dict())
    assert_close(other(X, EDGES, EDGE), model(X, EDGES, EDGE))
    assert_close(again(model)(X, EDGES, EDGE), model(X, EDGES, EDGE))


def test_unknown_widths_are_saved_as_unknown() -> None:
    other = lazy_network()
    other.load_state_dict(lazy_network().state_dict())
    assert isinstance(other.node_encoder.linear.weight, nn.UninitializedParameter)  # type: ignore[union-attr]


def test_an_optimizer_made_before_the_first_input_trains_the_weights() -> None:
    model = lazy_network().double()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(X.double(), EDGES, EDGE.double()).square().sum().backward()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer.step()
    assert all(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_reversible_layers_of_unknown_width() -> None:
    model = RevGEN(-1, 2, hidden_channels=8, num_layers=2, layer_edge_encoder=-1)
    model(X, EDGES, EDGE).sum().backward()
    assert model.layers[0].convs[0].edge_encoder.linear.weight.shape == (4, 4)  # type: ignore[union-attr,index]
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("x", "edge", "message"),
    [
        (X.long(), EDGE, r"x: expected a floating-point tensor \[nodes, width\], got torch.int64 \[7, 3\]"),
        (X, EDGE.long(), r"edge_attr: expected a floating-point tensor \[edges, width\], got torch.int64 \[10, 4\]"),
        (X, None, "edge_attr: expected edge features"),
    ],
)
def test_bad_first_input_is_named(x: Any, edge: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        lazy_network()(x, EDGES, edge)
