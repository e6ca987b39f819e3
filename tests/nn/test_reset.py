"""``reset_parameters`` draws what the construction draws: with its seed, the same weights."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from deepergcn.nn import (
    NETWORKS,
    DeeperGCN,
    GENConv,
    MessageNorm,
    PowerMeanAggregation,
    SoftmaxAggregation,
    SpeciesNodeEncoder,
)
from deepergcn.nn.networks.gaan import GaANConv
from tests.nn.pyg.models import EDGES

MADE: dict[str, Callable[[], Any]] = {
    "softmax": lambda: SoftmaxAggregation(0.5, learn_beta=True, y=0.1, learn_y=True, channels=3),
    "power mean": lambda: PowerMeanAggregation(2.0, learn_p=True),
    "MsgNorm": lambda: MessageNorm(s=0.5),
    "fixed": lambda: nn.Sequential(SoftmaxAggregation(0.5), MessageNorm(learn_s=False)),
    "GENConv": lambda: GENConv((3, 5), 8, ["softmax", "max"], learn_beta=True, msg_norm=True, edge_encoder=4),
    "categories": lambda: GENConv(8, 8, edge_encoder=(3, 4), mlp_layers=3, norm="layer"),
    "species": lambda: SpeciesNodeEncoder(8),
    "GaANConv": lambda: GaANConv(8, 8),
    "nodes": lambda: DeeperGCN(3, 2, hidden_channels=8, num_layers=3, edge_encoder=4, layer_edge_encoder=8),
    "graphs": lambda: DeeperGCN((3, 4), 2, hidden_channels=8, num_layers=3, virtual_node=True, level="graph"),
    "dense": lambda: DeeperGCN(None, None, hidden_channels=8, num_layers=2, block="dense", norm="layer"),
}


@pytest.mark.parametrize("name", MADE)
def test_the_seed_of_the_construction_gives_its_weights(name: str) -> None:
    torch.manual_seed(5)
    module = MADE[name]()
    made = {key: value.clone() for key, value in module.state_dict().items()}
    for value in module.state_dict().values():
        value.add_(1)
    torch.manual_seed(5)
    module.reset_parameters() if hasattr(module, "reset_parameters") else [m.reset_parameters() for m in module]
    assert module.state_dict().keys() == made.keys()
    for key, value in module.state_dict().items():
        assert torch.equal(value, made[key]), key


@pytest.mark.parametrize("way", ["reset", "load", "assign"])
@pytest.mark.parametrize("sizes", [(3, 4), (40, 40)])
def test_memory_without_content_is_filled(sizes: tuple[int, int], way: str) -> None:
    """``to_empty`` leaves anything in buffers that no state holds."""
    options: Any = {"hidden_channels": 8, "num_layers": 2, "layer_edge_encoder": sizes, "norm": "layer"}
    expected = DeeperGCN(sizes, 2, **options).double()
    with torch.device("meta"):
        model = DeeperGCN(sizes, 2, **options).double()
    if way != "assign":
        model.to_empty(device="cpu")
        for value in (*model.parameters(), *model.buffers()):
            value.detach().fill_(77)
    if way == "reset":
        model.reset_parameters()
        expected.load_state_dict(model.state_dict())
    else:
        model.load_state_dict(expected.state_dict(), assign=way == "assign")
    x, edge_attr = torch.tensor([[1, 2]] * 7), torch.tensor([[2, 3]] * EDGES.shape[1])
    assert torch.equal(model(x, EDGES, edge_attr), expected(x, EDGES, edge_attr))
    assert all(map(torch.equal, model.buffers(), expected.buffers()))


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_forgets_what_it_has_learned(name: str) -> None:
    model = NETWORKS[name](3, 2, hidden_channels=8, num_layers=2)
    for parameter in model.parameters():
        nn.init.constant_(parameter, 7.0)
    model.reset_parameters()
    assert all(parameter.abs().max() <= 1.5 for parameter in model.parameters())
    assert model(torch.rand(7, 3), EDGES).isfinite().all()
