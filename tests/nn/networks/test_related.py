"""Other ways to go deep: each network is its equation, in the paper's frame."""

from collections.abc import Callable
from math import log
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close
from torch_geometric.nn import APPNP as Propagation  # noqa: N811, the network has this name here
from torch_geometric.nn import GATConv

from deepergcn.errors import InputError
from deepergcn.nn import APPNP, GAT, GCN, GCNII, JKNet, ResGCNPlus
from deepergcn.nn.networks.baselines import Baseline
from deepergcn.nn.networks.propagation import NormalizedAdjacency
from tests.nn.networks.test_baselines import EDGE_ATTR, EDGES, X

NODES = X.shape[0]


def make(cls: type[Baseline], **options: Any) -> Baseline:
    torch.manual_seed(0)
    return cls(3, 2, **{"hidden_channels": 8, "num_layers": 3, **options}).eval()


def encoded(model: Baseline) -> Tensor:
    assert model.node_encoder is not None
    h: Tensor = model.node_encoder(X)
    return h


def headed(model: Baseline, h: Tensor) -> Tensor:
    assert isinstance(model.head, nn.Linear)
    out: Tensor = model.head(h)
    return out


def normalized_adjacency() -> Tensor:
    """D^(-1/2) (A + I) D^(-1/2), from sources (columns) to targets (rows); a loop that is there takes I's place."""
    a = torch.zeros(NODES, NODES)
    for u, v in EDGES.T.tolist():
        a[v, u] += 1
    loops = a.diagonal().clone()
    a += torch.diag((loops == 0).float())
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


def test_appnp_is_personalized_pagerank() -> None:
    model = make(APPNP, num_layers=5)
    first = F.relu(encoded(model))
    assert_close(model(X, EDGES), headed(model, Propagation(K=5, alpha=0.1)(first, EDGES)))
    a, h = normalized_adjacency(), first
    for _ in range(5):
        h = 0.9 * a @ h + 0.1 * first
    assert_close(model(X, EDGES), headed(model, h))


def watch(model: Baseline) -> list[int]:
    """Every width on which the layers of ``model`` will be called."""
    widths: list[int] = []
    for layer in model.layers:
        layer.register_forward_pre_hook(lambda _, inputs: widths.append(inputs[0].shape[1]))
    return widths


@pytest.mark.parametrize("training", [False, True])
def test_appnp_propagates_the_outputs_where_they_are_fewer_than_the_channels(
    training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make(APPNP, num_layers=5, dropout=0.5).train(training)
    widths: list[int] = []
    times = NormalizedAdjacency.times

    def watched(matrix: NormalizedAdjacency, x: Tensor) -> Tensor:
        widths.append(x.shape[1])
        return times(matrix, x)

    monkeypatch.setattr(NormalizedAdjacency, "times", watched)

    def result(pass_: Callable[[], Tensor]) -> tuple[Tensor, ...]:
        torch.manual_seed(1)
        out = pass_()
        return out, *torch.autograd.grad(out.square().sum(), list(model.parameters()))

    narrow = result(lambda: model(X, EDGES))
    assert widths == [2] * 5
    assert_close(narrow, result(lambda: headed(model, model.embed(X, EDGES))))
    assert widths == [2] * 5 + [8] * 5


def test_appnp_propagates_the_channels_where_its_layers_or_head_are_watched() -> None:
    expected = make(APPNP)(X, EDGES)
    watched, pruned, wide = make(APPNP), make(APPNP), APPNP(3, 9, hidden_channels=8, num_layers=3)
    seen = watch(watched)
    assert_close(watched(X, EDGES), expected)
    assert seen == [8] * 3
    assert isinstance(pruned.head, nn.Linear)
    pruned.head.register_forward_hook(lambda module, inputs, out: 2 * out)
    assert_close(pruned(X, EDGES), 2 * expected)
    assert_close(wide.eval()(X, EDGES), headed(wide, wide.embed(X, EDGES)))


def test_the_steps_of_appnp_have_no_weights() -> None:
    counts = [sum(p.numel() for p in make(APPNP, num_layers=depth).parameters()) for depth in (1, 9)]
    assert counts[0] == counts[1]


def test_gcnii_has_an_initial_residual_and_an_identity_mapping() -> None:
    model = make(GCNII, norm=None)
    a, first = normalized_adjacency(), F.relu(encoded(model))
    h = first
    for number in range(1, 4):
        weight = model.get_parameter(f"layers.{number - 1}.conv.conv.conv.weight1")
        beta = log(0.5 / number + 1)
        mixed = 0.9 * a @ h + 0.1 * first
        h = F.relu((1 - beta) * mixed + beta * mixed @ weight)
    assert_close(model(X, EDGES), headed(model, h))


def test_jk_net_takes_the_largest_of_all_layers() -> None:
    model, gcn = make(JKNet), make(GCN)
    h, outputs = encoded(model), []
    for i in range(3):
        h = model.get_submodule(f"layers.{i}")(h, EDGES, None)
        outputs.append(h)
    assert_close(model(X, EDGES), headed(model, torch.stack(outputs).amax(0)))
    assert_close(gcn(X, EDGES), headed(gcn, h))


def test_gat_attends_with_eight_heads() -> None:
    conv = make(GAT, num_layers=1).get_submodule("layers.0.conv.conv")
    assert isinstance(conv, GATConv)
    assert conv.heads == 8
    model = make(GAT, edge_encoder=2)
    assert not torch.allclose(model(X, EDGES, EDGE_ATTR), model(X, EDGES, 2 * EDGE_ATTR))
    with pytest.raises(InputError, match="hidden_channels: expected a multiple of the 8 heads, got 12"):
        make(GAT, hidden_channels=12)


@pytest.mark.parametrize("cls", [GAT, JKNet, APPNP, GCNII])
def test_renaming_the_vertices_renames_the_output(cls: type[Baseline]) -> None:
    model, name = make(cls), torch.tensor([3, 1, 4, 0, 2])
    moved = torch.empty_like(X)
    moved[name] = X
    assert_close(model(moved, name[EDGES])[name], model(X, EDGES))


@pytest.mark.parametrize("cls", [APPNP, GCNII])
def test_no_place_for_edge_features(cls: type[Baseline]) -> None:
    with pytest.raises(InputError, match=f"edge_encoder: {cls.__name__} takes no edge features"):
        make(cls, edge_encoder=2)


@pytest.mark.parametrize("cls", [JKNet, APPNP, GCNII])
def test_no_place_for_a_virtual_node(cls: type[Baseline]) -> None:
    with pytest.raises(InputError, match=f"virtual_node: expected False, {cls.__name__} takes none"):
        make(cls, virtual_node=True)


def test_pair_norm_keeps_deep_features_apart() -> None:
    """Without it 40 layers of GCN smooth the vertices of a connected graph until all are alike."""
    ring = torch.stack([torch.arange(12), (torch.arange(12) + 1) % 12])
    edges = torch.cat([ring, ring.flip(0)], dim=1)
    x = torch.randn(12, 3, generator=torch.Generator().manual_seed(3))

    def distance(**options: Any) -> float:
        with torch.no_grad():
            h = make(GCN, num_layers=40, **options).embed(x, edges)
        return float((h - h.mean(0)).norm() / h.norm())

    assert distance(norm=None) < 0.02
    assert distance(norm="pair") > 0.1


def test_pair_norm_is_for_tasks_on_nodes() -> None:
    for options in ({"level": "graph"}, {"virtual_node": True}):
        with pytest.raises(InputError, match="norm: pair takes all vertices together"):
            ResGCNPlus(3, 2, hidden_channels=8, num_layers=2, norm="pair", **options)
