"""Arguments by PyTorch Geometric's names are those of the paper."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from deepergcn.errors import InputError
from deepergcn.nn import (
    DeeperGCN,
    DyResGEN,
    GENConv,
    MessageNorm,
    PowerMeanAggregation,
    ResPlusBlock,
    SoftmaxAggregation,
)
from tests.nn.pyg.models import EDGES


def weights(cls: Any, *args: Any, **options: Any) -> tuple[str, dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    module = cls(*args, **options)
    return str(module), module.state_dict()


NETWORK = {"hidden_channels": 8, "num_layers": 2}


@pytest.mark.parametrize(
    ("cls", "theirs", "ours"),
    [
        (GENConv, {"t": 0.5, "learn_t": True}, {"beta": 0.5, "learn_beta": True}),
        (GENConv, {"aggr": "powermean", "learn_p": True}, {"aggr": "power_mean", "learn_p": True}),
        (GENConv, {"aggr": "add", "num_layers": 3}, {"aggr": "sum", "mlp_layers": 3}),
        (GENConv, {"aggr": "softmax_sg", "edge_dim": 3}, {"semi_gradient": True, "edge_encoder": 3}),
        (GENConv, {"msg_norm": True, "learn_msg_scale": False}, {"msg_norm": True, "learn_s": False}),
        (SoftmaxAggregation, {"t": 2.0, "learn": True}, {"beta": 2.0, "learn_beta": True}),
        (SoftmaxAggregation, {"semi_grad": True}, {"semi_gradient": True}),
        (PowerMeanAggregation, {"p": 2.0, "learn": True}, {"p": 2.0, "learn_p": True}),
        (MessageNorm, {"learn_scale": False}, {"learn_s": False}),
        (
            DeeperGCN,
            {"in_channels": 3, "out_channels": 2, "edge_dim": 4, "t": 0.5, "ckpt_grad": True, **NETWORK},
            {"node_encoder": 3, "head": 2, "layer_edge_encoder": 4, "beta": 0.5, "checkpoint": True, **NETWORK},
        ),
        (
            DyResGEN,
            {"in_channels": 3, "out_channels": 2, "learn_t": True, **NETWORK},
            {"node_encoder": 3, "head": 2, **NETWORK},
        ),
    ],
)
def test_both_names_build_the_same(cls: Any, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    args = (8, 8) if cls is GENConv else ()
    (their_text, their_state), (our_text, our_state) = weights(cls, *args, **theirs), weights(cls, *args, **ours)
    assert their_text == our_text
    assert_close(their_state, our_state)


def test_recomputation_by_pygs_name() -> None:
    block: Any = ResPlusBlock
    assert block(GENConv(8, 8), nn.LayerNorm(8), ckpt_grad=True).checkpoint
    assert block(GENConv(8, 8), nn.LayerNorm(8), ckpt_grad=True)(torch.rand(7, 8), EDGES).shape == (7, 8)


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (GENConv, {"t": 0.5, "beta": 0.5}, "t: is PyG's name for beta, which is given too; expected one of them"),
        (
            GENConv,
            {"aggr_kwargs": {}},
            "aggr_kwargs: has no equivalent here; the options of the aggregator are arguments",
        ),
        (GENConv, {"flow": "target_to_source"}, "flow: has no equivalent here; .* Adjacency.transpose"),
        (GENConv, {"aggr": "median"}, "aggr: expected one of softmax, power_mean, sum, .* got 'median'"),
        (PowerMeanAggregation, {"clamp_min": 0.1}, "clamp_min: has no equivalent here; the power mean has no clamps"),
        (ResPlusBlock, {"act": nn.ReLU()}, "act: has no equivalent here; the activation is ReLU"),
    ],
)
def test_what_has_no_equal_is_named(cls: Any, options: dict[str, Any], message: str) -> None:
    args = (8, 8) if cls is GENConv else ()
    with pytest.raises(InputError, match=message):
        cls(*args, **options)
