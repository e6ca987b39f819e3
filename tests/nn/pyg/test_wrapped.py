"""Weights that torch normalizes, prunes or computes: an accelerated layer gives what PyG's own gives."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize, prune
from torch_geometric.nn import GENConv

import deepergcn


class Half(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight / 2


WRAPS: dict[str, Callable[[Any], object]] = {
    "weight_norm": lambda layer: parametrizations.weight_norm(layer.lin_edge),
    "spectral_norm": lambda layer: parametrizations.spectral_norm(layer.lin_edge),
    "prune": lambda layer: prune.l1_unstructured(layer.lin_edge, "weight", amount=0.5),
    "prune t": lambda layer: prune.random_unstructured(layer.aggr_module, "t", amount=1),
    "a computed t": lambda layer: parametrize.register_parametrization(layer.aggr_module, "t", Half()),
    "hook": lambda layer: layer.lin_edge.register_forward_hook(lambda module, inputs, output: output * 2),
}


@pytest.mark.parametrize("accelerated_first", [True, False])
@pytest.mark.parametrize("wrap", WRAPS)
def test_wrapped_weights(wrap: str, accelerated_first: bool) -> None:
    torch.manual_seed(0)
    x, edge_index, edge_attr = torch.randn(20, 6), torch.randint(20, (2, 90)), torch.randn(90, 4)
    results = []
    for accelerate in (False, True):
        torch.manual_seed(1)
        layer = GENConv(6, 6, edge_dim=4, aggr="softmax", learn_t=True).eval()
        if accelerate and accelerated_first:
            deepergcn.accelerate(layer)
        WRAPS[wrap](layer)
        if accelerate and not accelerated_first:
            deepergcn.accelerate(layer)
        out = layer(x, edge_index, edge_attr)
        results.append([out, *torch.autograd.grad(out.square().sum(), list(layer.parameters()))])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_a_computed_t_outlives_acceleration() -> None:
    torch.manual_seed(0)
    x, edge_index = torch.randn(20, 6), torch.randint(20, (2, 90))
    layer = deepergcn.accelerate(GENConv(6, 6, learn_t=True).eval())
    parametrize.register_parametrization(layer.aggr_module, "t", Half())
    expected = layer(x, edge_index)
    for change in (copy.deepcopy, deepergcn.nn.deaccelerate, copy.deepcopy):
        layer = change(layer)
        torch.testing.assert_close(layer(x, edge_index), expected)
        torch.testing.assert_close(layer.aggr_module.t, torch.tensor([0.5]))
    assert not deepergcn.accelerated(layer).fast
    with pytest.raises(RuntimeError, match="parametrized"):
        pickle.dumps(layer)
