"""``to_pyg`` gives PyG's modules with our results, and ``from_pyg`` leads back to the same weights."""

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch.testing import assert_close

from deepergcn.errors import InputError
from deepergcn.nn import (
    DeeperGCN,
    GENConv,
    MessageNorm,
    ResPlusBlock,
    RevGEN,
    accelerate,
    accelerated,
    deaccelerate,
    from_pyg,
    to_pyg,
)
from deepergcn.nn.blocks import block_class
from tests.nn.pyg.models import EDGES, features
from tests.nn.pyg.test_from_pyg import assert_same, hook, hooked_relu


def make(*channels: Any, **options: Any) -> GENConv:
    torch.manual_seed(0)
    conv = GENConv(*(channels or (8, 8)), **options)
    conv.double()
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return conv


@pytest.mark.parametrize("edge_encoder", [None, 8, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"beta": 0.3},
        {"learn_beta": True, "bias": False},
        {"semi_gradient": True, "norm": "layer"},
        {"aggr": "power_mean", "p": 3.0, "learn_p": True, "msg_norm": True},
        {"aggr": "power_mean", "p": 0.5, "norm": None},
        {"aggr": "sum", "mlp_layers": 1, "msg_norm": True, "learn_s": False},
        {"aggr": ["mean", "softmax", "max", "min"], "learn_beta": True, "eps": 1e-3},
    ],
    ids=str,
)
def test_there_and_back(options: dict[str, Any], edge_encoder: int | None) -> None:
    ours = make(edge_encoder=edge_encoder, **options)
    theirs = to_pyg(ours)
    assert type(theirs) is pyg.GENConv
    back = from_pyg(theirs)
    assert str(back) == str(ours).replace("GENConv(\n  8, 8", "GENConv(\n  (8, 8), 8")
    assert_close(dict(back.state_dict()), dict(ours.state_dict()), rtol=0, atol=0)
    edge = None if edge_encoder is None else features(edge_encoder, rows=10)
    assert_same(theirs, ours, features(8), EDGES, edge)


def test_projections_and_lazy_widths() -> None:
    ours = GENConv((-1, -1), 8, norm="layer").double()
    pair = features(3), features(8, rows=7)
    ours(pair, EDGES)
    assert_close(to_pyg(ours)(pair, EDGES), ours(pair, EDGES))


@pytest.mark.parametrize("block", ["res+", "res", "dense", "plain"])
def test_blocks(block: str) -> None:
    ours = block_class(block)(make(), nn.LayerNorm(8).double(), dropout=0.3, relu=block != "plain", checkpoint=True)
    theirs = to_pyg(ours)
    assert isinstance(theirs, pyg.DeepGCNLayer)
    assert_same(theirs.eval(), ours.eval(), features(8), EDGES)
    assert str(from_pyg(theirs)) == str(from_pyg(to_pyg(from_pyg(theirs))))


def test_the_layers_of_a_network_with_their_statistics() -> None:
    model = DeeperGCN(3, 2, hidden_channels=8, num_layers=2, msg_norm=True).double()
    for _ in range(3):
        model(features(3), EDGES)
    model.eval()
    h = features(8)
    theirs = to_pyg(model.layers)
    assert isinstance(theirs, nn.ModuleList)
    assert not any(isinstance(m, ResPlusBlock | GENConv | MessageNorm) for m in theirs.modules())
    for layer, other in zip(model.layers, theirs, strict=True):
        assert_close(other(h, EDGES), layer(h, EDGES))


def test_initial_values_come_along() -> None:
    theirs: Any = to_pyg(GENConv(8, 8, beta=0.3, learn_beta=True))
    with torch.no_grad():
        theirs.aggr_module.t.fill_(2.0)
    back = from_pyg(theirs)
    assert isinstance(back, GENConv)
    assert back.dynamics()["beta"] == 2.0
    back.reset_parameters()
    assert back.dynamics()["beta"] == pytest.approx(0.3)


def test_aggregations_by_index() -> None:
    theirs = pyg.PowerMeanAggregation(p=2.0, learn=True).double()
    again = to_pyg(from_pyg(theirs))
    x, index = features(8, rows=10, low=0.5), torch.tensor([0, 0, 1, 3, 3, 3, 2, 2, 1, 0])
    assert_same(theirs, again, x, index)


def changed(path: str, change: Any) -> GENConv:
    """A GENConv with a part that was changed."""
    conv = GENConv(8, 8, edge_encoder=3)
    change(conv.get_submodule(path))
    return conv


def replaced(path: str, part: nn.Module) -> GENConv:
    conv = GENConv(8, 8, edge_encoder=3)
    conv.set_submodule(path, part)
    return conv


def own_message(conv: Any) -> None:
    conv.message = lambda x_j, edge: 2 * x_j


def with_act(act: nn.Module) -> ResPlusBlock:
    block = ResPlusBlock(GENConv(8, 8))
    block.act = act
    return block


@pytest.mark.parametrize(
    ("ours", "message"),
    [
        (GENConv(8, 8, y=1.0), r"GENConv: degree scaling \(y\) has no equivalent in PyG"),
        (GENConv(8, 8, root_weight=True), r"GENConv: a root weight \(root_weight=True\) has no equivalent in PyG"),
        (GENConv(8, 8, learn_y=True), r"GENConv: degree scaling \(y\) has no equivalent in PyG"),
        (GENConv(8, 8, aggr="power_mean", p=-1.0), "GENConv: PyG's power mean of no messages is infinite for p <= 0"),
        (GENConv(8, 8, edge_encoder=(3, 2)), "GENConv: PyG has no edge encoder like CategoricalEncoder"),
        (GENConv(3, 8, msg_norm=True), "GENConv: MsgNorm by projected features has no equivalent in PyG"),
        (GENConv(-1, 8), "GENConv: its widths are not known yet; call it once before"),
        (DeeperGCN(3, 2, hidden_channels=8, num_layers=1), r"DeeperGCN: a whole network has no equivalent in PyG"),
        (RevGEN(3, 2, hidden_channels=8, num_layers=1).layers, "0: reversible layers cannot be converted"),
        (nn.ModuleList([nn.ReLU(), GENConv(8, 8, y=1.0)]), "ModuleList.1: degree scaling"),
        (changed("mlp.1", hook), "GENConv.mlp.1: has hooks"),
        (changed("aggregation", hook), "GENConv.aggregation: has hooks"),
        (changed("edge_encoder.linear", hook), "GENConv.edge_encoder.linear: has hooks"),
        (changed("", own_message), "GENConv: its messages are explained, hooked or replaced"),
        (
            replaced("edge_encoder.linear", nn.Sequential(nn.Linear(3, 8))),
            "expected a Linear layer as lin_edge, got Seq",
        ),
        (replaced("mlp.1", nn.GroupNorm(2, 16)), "GENConv: expected the MLP that GENConv builds"),
        (replaced("mlp.2", nn.GELU()), "GENConv: expected the MLP that GENConv builds"),
        (replaced("mlp", nn.Linear(8, 8)), "GENConv: expected the MLP that GENConv builds"),
        (with_act(nn.GELU()), "ResPlusBlock: expected ReLU or no activation, got GELU"),
        (with_act(hooked_relu()), "ResPlusBlock.act: has hooks"),
    ],
    ids=lambda value: str(value).splitlines()[0],
)
def test_what_pyg_cannot_express_is_one_error(ours: nn.Module, message: str) -> None:
    with pytest.raises(InputError, match=message):
        to_pyg(ours)


@pytest.mark.parametrize("convert", [to_pyg, from_pyg, accelerate, accelerated, deaccelerate])
def test_what_is_no_module_is_refused(convert: Any) -> None:
    with pytest.raises(InputError, match=r"expected a torch\.nn\.Module, got int"):
        convert(5)
