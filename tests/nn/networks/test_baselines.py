"""The networks of the comparison: their convolutions' equations, and edge features where they have a place."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close
from torch_geometric.nn import GCNConv, GINConv, GINEConv, ResGatedGraphConv, SAGEConv

from deepergcn.errors import InputError
from deepergcn.nn import GCN, GIN, GaAN, GatedGCN, GraphSAGE
from deepergcn.nn.networks.baselines import Baseline, GCNEdgeConv
from deepergcn.nn.networks.gaan import GaANConv
from deepergcn.ops import Adjacency

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0, 3], [1, 0, 1, 4, 4, 2, 1]])
X = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
EDGE_ATTR = torch.rand(7, 2, generator=torch.Generator().manual_seed(1))


def make(cls: type[Baseline], **options: Any) -> Baseline:
    torch.manual_seed(0)
    return cls(3, 2, **{"hidden_channels": 8, "num_layers": 3, **options}).eval()


@pytest.mark.parametrize(
    ("cls", "conv", "conv_with_edges"),
    [
        (GCN, GCNConv, GCNEdgeConv),
        (GIN, GINConv, GINEConv),
        (GatedGCN, ResGatedGraphConv, ResGatedGraphConv),
        (GaAN, GaANConv, GaANConv),
    ],
)
def test_edge_features_take_part_where_there_is_an_encoder(
    cls: type[Baseline], conv: type, conv_with_edges: type
) -> None:
    without = make(cls)
    assert type(without.get_submodule("layers.0.conv.conv")) is conv
    assert_close(without(X, EDGES, EDGE_ATTR), without(X, EDGES))
    for options in (
        {"edge_encoder": 2},
        {"layer_edge_encoder": 2},
        {"edge_encoder": 2, "layer_edge_encoder": 8},
    ):
        model = make(cls, **options)
        assert type(model.get_submodule("layers.0.conv.conv")) is conv_with_edges
        assert not torch.allclose(model(X, EDGES, EDGE_ATTR), model(X, EDGES, 2 * EDGE_ATTR))
        with pytest.raises(InputError, match="edge_attr: expected edge features"):
            model(X, EDGES)


def test_graph_sage_has_no_place_for_edge_features() -> None:
    assert type(make(GraphSAGE).get_submodule("layers.0.conv.conv")) is SAGEConv
    with pytest.raises(InputError, match="GraphSAGE takes no edge features"):
        make(GraphSAGE, edge_encoder=2)


@pytest.mark.parametrize("cls", [GCN, GraphSAGE, GIN, GatedGCN, GaAN])
def test_renaming_the_vertices_renames_the_output(cls: type[Baseline]) -> None:
    model = make(cls)
    name = torch.tensor([3, 1, 4, 0, 2])
    moved = torch.empty_like(X)
    moved[name] = X
    assert_close(model(moved, name[EDGES])[name], model(X, EDGES))


@pytest.mark.parametrize("cls", [GCN, GraphSAGE, GIN, GatedGCN, GaAN])
def test_every_form_of_the_graph_and_bad_edges(cls: type[Baseline]) -> None:
    model = make(cls)
    assert_close(model(X, Adjacency.from_edge_index(EDGES, 5)), model(X, EDGES))
    assert_close(model(X, EDGES.int()), model(X, EDGES))
    with pytest.raises(InputError, match="edge_index: source 5 of edge 4 is out of range"):
        model(X, EDGES + 1)


def test_gin_with_a_virtual_node_hears_the_whole_graph() -> None:
    changed = X.clone()
    changed[4] += 1  # a vertex from which no path leads to another
    plain, virtual = make(GIN), make(GIN, virtual_node=True)
    assert_close(plain(changed, EDGES)[:4], plain(X, EDGES)[:4])
    assert (virtual(changed, EDGES) != virtual(X, EDGES)).any(dim=1).all()
    apart = torch.tensor([0, 0, 0, 0, 1])
    assert_close(virtual(changed, EDGES, batch=apart)[:4], virtual(X, EDGES, batch=apart)[:4])


def test_gated_gcn_adds_its_input() -> None:
    model = make(GatedGCN, num_layers=2)
    convs = [model.get_submodule(f"layers.{i}.conv.conv") for i in range(2)]
    norms = [model.get_submodule(f"layers.{i}.norm") for i in range(2)]
    assert model.node_encoder is not None
    assert isinstance(model.head, nn.Linear)
    h = F.relu(norms[0](convs[0](model.node_encoder(X), EDGES)))
    h = h + F.relu(norms[1](convs[1](h, EDGES)))
    assert_close(model(X, EDGES), model.head(h))


def test_gcn_with_edge_features_is_ogbs_equation() -> None:
    torch.manual_seed(0)
    conv = GCNEdgeConv(3, 4)
    nn.init.normal_(conv.root)
    edge = torch.randn(7, 4)
    h = conv.linear(X)
    degree = torch.zeros(5).index_add(0, EDGES[1], torch.ones(7)) + 1
    expected = F.relu(h + conv.root) / degree[:, None]
    for e, (u, v) in enumerate(EDGES.T.tolist()):
        expected[v] = expected[v] + F.relu(h[u] + edge[e]) / (degree[u] * degree[v]).sqrt()
    assert_close(conv(X, EDGES, edge), expected)


@pytest.mark.parametrize("with_edges", [False, True])
def test_gaan_is_its_equation(with_edges: bool) -> None:
    torch.manual_seed(0)
    conv = GaANConv(3, 4, heads=2)
    edge = torch.randn(7, 3) if with_edges else None
    expected = torch.stack([_gaan_vertex(conv, v, edge) for v in range(5)])
    assert_close(conv(X, EDGES, edge), expected)


def _gaan_vertex(conv: GaANConv, v: int, edge: Tensor | None) -> Tensor:
    here = EDGES[1] == v
    z = X[EDGES[0][here]] if edge is None else X[EDGES[0][here]] + edge[here]
    heads = []
    for head in (slice(0, 2), slice(2, 4)):
        weight = torch.softmax(conv.key(z)[:, head] @ conv.query(X[v])[head], 0)
        heads.append(weight @ F.leaky_relu(conv.value(z)[:, head], 0.1))
    largest = conv.gate_max(z).amax(0) if len(z) else torch.zeros(4)
    average = z.mean(0) if len(z) else torch.zeros(3)
    gate = torch.sigmoid(conv.gate(torch.cat([X[v], largest, average])))
    out: Tensor = conv.out(torch.cat([X[v], gate[0] * heads[0], gate[1] * heads[1]]))
    return out


def test_gaan_refuses_heads_that_do_not_divide_its_channels() -> None:
    with pytest.raises(InputError, match="heads: expected a divisor of the 8 channels, got 3"):
        GaANConv(8, 8, heads=3)
