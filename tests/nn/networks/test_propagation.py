"""The fast propagation of APPNP and GCNII is that of PyG's modules, which still do it where messages are needed."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import APPNP as Propagation  # noqa: N811, the network has this name here
from torch_geometric.nn import GCN2Conv

from deepergcn.nn import APPNP, GCNII
from deepergcn.nn.networks.baselines import Baseline
from deepergcn.nn.networks.propagation import NormalizedAdjacency
from deepergcn.nn.networks.related import IdentityMapping
from deepergcn.ops import Adjacency

NODES = 9
# A hub (0), a repeated edge (1 -> 0), one self-loop (2), a repeated self-loop (3), and 7 and 8 without edges.
EDGES = torch.tensor([[1, 1, 2, 3, 4, 5, 0, 2, 3, 3, 6, 4], [0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 5, 6]])
NO_EDGES = EDGES[:, :0]


def features(seed: int) -> Tensor:
    return torch.randn(NODES, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def make(cls: type[Baseline], **options: Any) -> Baseline:
    torch.manual_seed(0)
    return cls(4, 2, **{"hidden_channels": 8, "num_layers": 3, **options}).double().eval()


def masked(model: Baseline, edges: Tensor) -> Tensor:
    """The output with a mask of ones, for which PyG makes every message."""
    set_masks(model, torch.nn.Parameter(torch.ones(edges.shape[1], dtype=torch.float64)), edges, apply_sigmoid=False)
    try:
        out: Tensor = model(features(0), edges)
        return out
    finally:
        clear_masks(model)


@pytest.mark.parametrize("edges", [EDGES, EDGES[:, EDGES[0] != EDGES[1]], NO_EDGES])
def test_the_product_is_a_step_of_pyg(edges: Tensor) -> None:
    x, g = features(1), features(2).detach()
    fast = NormalizedAdjacency.of(Adjacency.from_edge_index(edges, NODES), x.dtype).times(x)
    slow = Propagation(K=1, alpha=0.0)(x, edges)
    assert_close(fast, slow)
    assert_close(torch.autograd.grad(fast, x, g), torch.autograd.grad(slow, x, g))


@pytest.mark.parametrize("edges", [EDGES, NO_EDGES])
def test_a_layer_of_gcnii_is_that_of_pyg(edges: Tensor) -> None:
    torch.manual_seed(0)
    layer = IdentityMapping(4, 0.1, 0.5, 2).double()
    assert isinstance(layer.conv, GCN2Conv)
    x, first, g = features(1), features(2), features(3).detach()
    inputs = (x, first, layer.conv.weight1)
    fast = layer(x, NormalizedAdjacency.of(Adjacency.from_edge_index(edges, NODES), x.dtype), first)
    slow = layer.conv(x, first, edges)
    assert_close(fast, slow)
    assert_close(torch.autograd.grad(fast, inputs, g), torch.autograd.grad(slow, inputs, g))


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("cls", [APPNP, GCNII])
def test_networks_are_the_same_with_and_without_messages(cls: type[Baseline], checkpoint: bool) -> None:
    model, explained = make(cls, checkpoint=checkpoint), make(cls)
    fast, slow = model(features(0), EDGES), masked(explained, EDGES)
    assert_close(fast, slow)
    of_fast, of_slow = (
        torch.autograd.grad(o.sum(), list(m.parameters())) for o, m in ((fast, model), (slow, explained))
    )
    assert_close(of_fast, of_slow)
    assert_close(model(features(0), Adjacency.from_edge_index(EDGES, NODES)), fast)


@pytest.mark.parametrize("cls", [APPNP, GCNII])
def test_messages_are_made_only_where_they_are_asked_for(cls: type[Baseline]) -> None:
    model, calls = make(cls), []
    model(features(0), EDGES)
    conv = model.get_submodule("layers.1.conv.conv." + ("propagation" if cls is APPNP else "conv"))
    assert isinstance(conv, Propagation | GCN2Conv)
    conv.register_message_forward_hook(lambda *call: calls.append(call[-1].shape))
    model(features(0), EDGES)
    loops = int((EDGES[0] == EDGES[1]).sum())
    assert calls == [(EDGES.shape[1] - loops + NODES, 8)]


def test_an_edge_without_its_messages_is_an_edge_left_out_of_the_sums() -> None:
    model = make(APPNP, num_layers=1)
    mask = torch.ones(EDGES.shape[1], dtype=torch.float64)
    mask[6] = 0.0  # 0 -> 1, the only edge into 1
    set_masks(model, torch.nn.Parameter(mask), EDGES, apply_sigmoid=False)
    without = model(features(0), EDGES)
    clear_masks(model)
    changed = (model(features(0), EDGES) - without).abs().sum(1) > 1e-9
    assert changed.tolist() == [vertex == 1 for vertex in range(NODES)]
