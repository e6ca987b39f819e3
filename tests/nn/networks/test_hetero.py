"""Heterogeneous networks are the residual network with a convolution for every edge type."""

import copy
from typing import Any

import pytest
import torch
from torch.testing import assert_close
from torch_geometric.data import HeteroData

from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN, HeteroDeeperGCN
from deepergcn.nn.networks.hetero import EdgeType
from tests.nn.pyg.models import EDGES as HOMOGENEOUS

WRITES: EdgeType = ("author", "writes", "paper")
CITES: EdgeType = ("paper", "cites", "paper")
X = {"author": torch.rand(7, 3), "paper": torch.rand(5, 4)}
EDGES = {WRITES: torch.tensor([[0, 6, 3], [0, 4, 4]]), CITES: torch.tensor([[0, 1], [2, 2]])}
ATTR = {CITES: torch.rand(2, 2)}


def make(**options: Any) -> HeteroDeeperGCN:
    torch.manual_seed(0)
    return HeteroDeeperGCN(
        {"author": 3, "paper": -1},
        {WRITES: None, CITES: 2},
        4,
        **{"target": "paper", "hidden_channels": 8, "num_layers": 3, **options},
    )


def test_with_one_type_it_is_deeper_gcn() -> None:
    homogeneous: Any = DeeperGCN(3, 2, hidden_channels=8, num_layers=3, norm="layer", learn_beta=True)
    hetero: Any = HeteroDeeperGCN(
        {"v": 3}, {("v", "e", "v"): None}, 2, target="v", hidden_channels=8, num_layers=3, learn_beta=True
    )
    with torch.no_grad():
        for ours, theirs in zip(hetero.convs, homogeneous.layers, strict=True):
            ours[("v", "e", "v")].load_state_dict(theirs.conv.state_dict())
        hetero.node_encoders["v"].load_state_dict(homogeneous.node_encoder.state_dict())
        hetero.head.load_state_dict(homogeneous.head.state_dict())
    x = torch.rand(7, 3)
    assert_close(hetero({"v": x}, {("v", "e", "v"): HOMOGENEOUS}), homogeneous(x, HOMOGENEOUS))


def test_hetero_data_is_taken_as_it_is_and_every_parameter_learns() -> None:
    data = HeteroData()
    for name, x in X.items():
        data[name].x = x
    for edge_type, edge_index in EDGES.items():
        data[edge_type].edge_index = edge_index
    data[CITES].edge_attr = ATTR[CITES]
    model = make(aggr="softmax", learn_beta=True)
    out = model(data)
    assert out.shape == (5, 4)
    assert_close(out, model(X, EDGES, ATTR))
    out.square().sum().backward()
    unused = {name for name, value in model.named_parameters() if value.grad is None}
    assert all(name.startswith(("norms.2.<author>", "convs")) for name in unused), unused


def test_a_type_that_hears_nobody_keeps_its_features() -> None:
    model = make(norm=None)
    assert_close(model.embed(X, EDGES, ATTR)["author"], model.node_encoders["author"](X["author"]).relu())


def test_reset_with_the_seed_gives_the_same_weights() -> None:
    torch.manual_seed(0)
    model = HeteroDeeperGCN({"a": 3}, {("a", "r", "a"): 2}, 4, target="a", hidden_channels=8, num_layers=2)
    made = {name: value.clone() for name, value in model.state_dict().items()}
    for value in model.state_dict().values():
        value.add_(1)
    torch.manual_seed(0)
    model.reset_parameters()
    assert_close(dict(model.state_dict()), made, rtol=0, atol=0)


def test_a_type_may_have_any_name() -> None:
    names = ["item", "items", "type", "training", "a.b", "a,b", "a%2Cb", "x y", "büro", "<v>"]
    edges: dict[EdgeType, int | None] = {(name, "keys.of", names[0]): None for name in names}
    edges |= {("a,b", "c", "item"): None, ("item", "a,b", "item"): None}
    model = HeteroDeeperGCN(dict.fromkeys(names, 2), edges, 1, target="item", hidden_channels=4, num_layers=2)
    assert all(len(layer) == len(edges) for layer in model.convs)  # type: ignore[arg-type]
    x = {name: torch.rand(3, 2) for name in names}
    out = model(x, dict.fromkeys(edges, torch.tensor([[0, 1], [1, 2]])))
    assert out.shape == (3, 1)
    again = HeteroDeeperGCN(dict.fromkeys(names, 2), edges, 1, target="item", hidden_channels=4, num_layers=2)
    again.load_state_dict(copy.deepcopy(model).state_dict())
    assert torch.equal(again(x, dict.fromkeys(edges, torch.tensor([[0, 1], [1, 2]]))), out)


def test_dynamics_are_those_of_every_edge_type_of_a_layer() -> None:
    found = make(learn_beta=True, beta=0.5).dynamics()
    assert found == [{"beta": [0.5, 0.5], "y": [0.0, 0.0]}] * 3


@pytest.mark.parametrize(
    ("options", "inputs", "message"),
    [
        ({"target": "venue"}, None, "target: expected one of the node types author, paper, got 'venue'"),
        ({"num_layers": 0}, None, "num_layers: expected at least 1, got 0"),
        (
            {},
            ({"author": X["author"]}, EDGES, ATTR),
            "x: expected every type of the network, there is none for 'paper'",
        ),
        ({}, (X, {WRITES: EDGES[WRITES]}, ATTR), "edge_index: expected every type of the network, .*'cites'"),
        ({}, (X, EDGES), "edge_attr: expected edge features"),
    ],
)
def test_bad_input_is_named(options: dict[str, Any], inputs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**options)(*inputs)


def test_edge_types_of_unknown_nodes_are_named() -> None:
    with pytest.raises(InputError, match="names 'venue', which is not a node type"):
        HeteroDeeperGCN({"a": 3}, {("a", "in", "venue"): None}, 1, target="a", hidden_channels=8, num_layers=1)
