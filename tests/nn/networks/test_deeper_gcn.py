"""Whole networks: their wiring, their symmetries, and what they make of odd input."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close
from torch_geometric.data import Batch, Data

from deepergcn.errors import InputError
from deepergcn.nn import AffineEncoder, Block, CategoricalEncoder, DeeperGCN
from deepergcn.nn.encoders.tables import Tables
from deepergcn.ops import Adjacency
from tests.ops.graphs import DTYPES, Case, cases

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0, 5, 5], [1, 0, 1, 4, 4, 2, 6, 6]])
BATCH = torch.tensor([0, 0, 0, 1, 1, 3, 3])
X = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))


def make(**options: Any) -> DeeperGCN:
    torch.manual_seed(0)
    return DeeperGCN(3, 2, **{"hidden_channels": 8, "num_layers": 3, **options}).eval()


def parts(model: DeeperGCN) -> tuple[Any, list[Any], list[Any]]:
    """The encoder, the convolutions and the normalizations of the layers."""
    blocks = [layer for layer in model.layers if isinstance(layer, Block)]
    return model.node_encoder, [b.conv for b in blocks], [b.norm for b in blocks]


def graph_mean(h: Tensor) -> Tensor:
    """The mean over each of the four graphs of ``BATCH``; the third has no vertex."""
    return torch.stack([h[:3].mean(0), h[3:5].mean(0), torch.zeros(h.shape[1]), h[5:].mean(0)])


# Wiring


def test_pre_activation_wiring_of_a_node_model() -> None:
    model = make(dropout=0.3)
    encoder, convs, norms = parts(model)
    h = convs[0](encoder(X), EDGES)
    for i in (1, 2):
        h = h + convs[i](F.relu(norms[i](h)), EDGES)
    assert model.norm is not None
    assert norms[0] is None
    assert isinstance(model.head, nn.Linear)
    assert_close(model(X, EDGES), model.head(F.relu(model.norm(h))))


def test_pre_activation_wiring_of_a_graph_model() -> None:
    model = make(level="graph")
    encoder, convs, norms = parts(model)
    h = convs[0](encoder(X), EDGES)
    for i in (1, 2):
        h = h + convs[i](F.relu(norms[i](h)), EDGES)
    assert model.norm is not None
    assert isinstance(model.head, nn.Linear)
    assert_close(model(X, EDGES, batch=BATCH), model.head(graph_mean(model.norm(h))))


def test_residual_wiring() -> None:
    model = make(block="res")
    encoder, convs, norms = parts(model)
    h = F.relu(norms[0](convs[0](encoder(X), EDGES)))
    for i in (1, 2):
        h = h + F.relu(norms[i](convs[i](h, EDGES)))
    assert model.norm is None
    assert isinstance(model.head, nn.Linear)
    assert_close(model(X, EDGES), model.head(h))


@pytest.mark.parametrize("level", ["node", "graph"])
def test_plain_wiring(level: str) -> None:
    model = make(block="plain", level=level)
    encoder, convs, norms = parts(model)
    h = encoder(X)
    for i in range(3):
        h = norms[i](convs[i](h, EDGES))
        if i < 2 or level == "node":
            h = F.relu(h)
    assert isinstance(model.head, nn.Linear)
    expected = model.head(h if level == "node" else graph_mean(h))
    assert_close(model(X, EDGES, batch=BATCH if level == "graph" else None), expected)


def test_dense_wiring() -> None:
    model = make(block="dense")
    encoder, convs, norms = parts(model)
    h = encoder(X)
    for i in range(3):
        h = torch.cat([h, F.relu(norms[i](convs[i](h, EDGES)))], dim=1)
    assert h.shape == (7, 32)
    assert isinstance(model.head, nn.Linear)
    assert_close(model(X, EDGES), model.head(h))


@pytest.mark.parametrize("block", ["res+", "plain"])
def test_virtual_node_wiring(block: str) -> None:
    model = make(block=block, level="graph", virtual_node=True)
    encoder, convs, norms = parts(model)
    virtual = model.virtual_node
    assert virtual is not None
    assert (virtual.embedding == 0).all()
    with torch.no_grad():
        virtual.embedding.normal_()
    v = virtual.embedding.expand(4, 8)
    h = convs[0](encoder(X) + v[BATCH], EDGES)
    if block == "plain":
        h = F.relu(norms[0](h))
    for i in (1, 2):
        heard = F.relu(norms[i](h)) if block == "res+" else h
        v = virtual.updates[i - 1](v + torch.zeros(4, 8).index_add(0, BATCH, heard))
        out = convs[i](heard + v[BATCH], EDGES)
        h = h + out if block == "res+" else norms[i](out).relu() if i < 2 else norms[i](out)
    if block == "res+":
        assert model.norm is not None
        h = model.norm(h)
    assert isinstance(model.head, nn.Linear)
    assert_close(model(X, EDGES, batch=BATCH, num_graphs=4), model.head(graph_mean(h)))


@pytest.mark.parametrize(
    ("pooling", "reduce"),
    [("mean", torch.mean), ("sum", torch.sum), ("max", torch.amax)],
)
def test_pooling(pooling: Any, reduce: Any) -> None:
    model = make(level="graph", pooling=pooling)
    nodes = model.embed(X, EDGES, batch=torch.arange(7))
    pooled = model.embed(X, EDGES, batch=BATCH, num_graphs=5)
    assert_close(pooled[0], reduce(nodes[:3], dim=0))
    assert_close(pooled[3], reduce(nodes[5:], dim=0))
    assert (pooled[[2, 4]] == 0).all()


# Symmetries


@pytest.mark.parametrize(
    "options",
    [
        {"learn_beta": True, "norm": "layer"},
        {"aggr": "power_mean", "learn_p": True, "msg_norm": True, "norm": "batch"},
        {"block": "dense", "aggr": "max"},
        {"block": "res", "aggr": "mean", "virtual_node": True},
    ],
    ids=str,
)
@settings(max_examples=8)
@given(case=cases(edges=(None,), bipartite=False), dtype=st.sampled_from(DTYPES), seed=st.integers(0, 99))
def test_renaming_the_vertices_renames_the_output(
    options: dict[str, Any], case: Case, dtype: torch.dtype, seed: int
) -> None:
    torch.manual_seed(0)
    model = DeeperGCN(case.channels, 3, hidden_channels=8, num_layers=3, **options).to(dtype).eval()
    x = case.x.to(dtype)
    name = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    moved = torch.empty_like(x)
    moved[name] = x
    assert_close(model(moved, name[case.edge_index])[name], model(x, case.edge_index), rtol=1e-3, atol=1e-4)


def test_a_batch_gives_what_its_graphs_give_alone() -> None:
    model = make(level="graph", virtual_node=True, edge_encoder=2, layer_edge_encoder=8)
    generator = torch.Generator().manual_seed(0)
    graphs = [
        Data(
            x=torch.randn(nodes, 3, generator=generator),
            edge_index=torch.randint(nodes, (2, edges), generator=generator),
            edge_attr=torch.rand(edges, 2, generator=generator),
        )
        for nodes, edges in ((4, 6), (1, 0), (6, 20))
    ]
    together = model(Batch.from_data_list(graphs))
    assert together.shape == (3, 2)
    assert_close(together, torch.cat([model(graph) for graph in graphs]))
    assert_close(together[:1], model(Batch.from_data_list(graphs[:1])))


# Inputs


def test_every_form_of_input_gives_the_same() -> None:
    model = make()
    expected = model(X, EDGES)
    assert_close(model(X, Adjacency.from_edge_index(EDGES, 7)), expected)
    assert_close(model(Data(x=X, edge_index=EDGES)), expected)
    assert_close(model(Data(x=X, adjacency=Adjacency.from_edge_index(EDGES, 7))), expected)
    assert_close(model.head(model.embed(X, EDGES)), expected)  # type: ignore[misc]


@pytest.mark.parametrize("block", ["plain", "res", "res+", "dense"])
@pytest.mark.parametrize("level", ["node", "graph"])
@pytest.mark.parametrize("nodes", [0, 1, 4])
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_empty_single_and_isolated(block: str, level: str, nodes: int, norm: str) -> None:
    model = make(block=block, level=level, norm=norm, msg_norm=True, learn_beta=True, dropout=0.1).train()
    x = torch.rand(nodes, 3)
    out = model(x, torch.zeros(2, 0, dtype=torch.int64))
    assert out.shape == ((nodes, 2) if level == "node" else (1, 2))
    out.sum().backward()
    assert out.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert all(b.isfinite().all() for b in model.buffers())


def test_one_graph_trains_with_a_virtual_node_and_batch_normalization() -> None:
    model = make(level="graph", virtual_node=True, norm="batch").train()
    out = model(X, EDGES)
    out.sum().backward()
    assert out.shape == (1, 2)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_features_taken_as_they_are() -> None:
    model = DeeperGCN(None, None, hidden_channels=8, num_layers=2).eval()
    assert model(torch.rand(7, 8), EDGES).shape == (7, 8)
    with pytest.raises(InputError, match=r"x: expected a floating-point tensor \[nodes, 8\], since the network has no"):
        model(X, EDGES)


def test_any_module_fits_the_slots() -> None:
    encoder, head = nn.Linear(3, 8), nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
    model = DeeperGCN(
        encoder, head, hidden_channels=8, num_layers=2, edge_encoder=AffineEncoder(2, 8), layer_edge_encoder=8
    )
    assert model(X, EDGES, torch.rand(8, 2)).shape == (7, 1)
    makers = DeeperGCN(3, 1, hidden_channels=8, num_layers=2, layer_edge_encoder=lambda: CategoricalEncoder((5, 2), 8))
    assert len({id(conv.edge_encoder) for conv in parts(makers)[1]}) == 2
    assert makers(X, EDGES, torch.zeros(8, 2, dtype=torch.int64)).shape == (7, 1)


def test_one_layer_is_enough() -> None:
    model = make(num_layers=1)
    encoder, convs, _ = parts(model)
    assert model.norm is not None
    assert isinstance(model.head, nn.Linear)
    assert_close(model(X, EDGES), model.head(F.relu(model.norm(convs[0](encoder(X), EDGES)))))


# Work that is done once


def test_categories_are_numbered_once_and_the_graph_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    numbered, built = [], []
    check, build = Tables.check, Adjacency.from_edge_index

    def counting_check(self: Tables, categories: Tensor) -> None:
        numbered.append(self.name)
        check(self, categories)

    def counting_build(*args: Any) -> Adjacency:
        built.append(1)
        return build(*args)

    monkeypatch.setattr(Tables, "check", counting_check)
    monkeypatch.setattr(Adjacency, "from_edge_index", counting_build)
    model = make(layer_edge_encoder=(5, 6, 2), num_layers=5)
    model(X, EDGES.clone(), torch.zeros(8, 3, dtype=torch.int64))
    assert numbered == ["edge_attr"]
    assert built == [1]


@pytest.mark.parametrize("segments", [None, (2,), (1, 2), (3,)], ids=str)
@pytest.mark.parametrize("options", [{}, {"virtual_node": True, "level": "graph"}, {"block": "dense"}], ids=str)
def test_recomputing_changes_nothing(options: dict[str, Any], segments: tuple[int, ...] | None) -> None:
    results = []
    for is_recomputed in (False, True):
        checkpoint = is_recomputed and segments is None
        model = make(checkpoint=checkpoint, dropout=0.4, learn_beta=True, **options).train()
        if is_recomputed and segments is not None:
            model.recompute_segments(segments)
        torch.manual_seed(1)
        out = model(X, EDGES)
        out.square().sum().backward()
        results.append((out, [p.grad for p in model.parameters()], list(model.buffers())))
    assert_close(results[0], results[1], rtol=0, atol=0)


def test_segments_keep_less() -> None:
    """What the layers themselves keep for backward: all of them, the layers after the segments, or none."""
    kept = []
    for segments in ((), (2,), (2, 1)):
        model = make().train()
        model.recompute_segments(segments)
        saved: list[int] = []

        def note(t: Tensor, saved: list[int] = saved) -> Tensor:
            saved.append(t.numel())
            return t

        with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
            model(X, EDGES)
        kept.append(len(saved))
    assert kept[0] > kept[1] > kept[2]


@pytest.mark.parametrize("segments", [(0,), (2, 2), (-1,)])
def test_segments_that_do_not_fit_the_depth_are_refused(segments: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="segments: expected lengths of at least 1 that add up to at most 3"):
        make().recompute_segments(segments)


def test_reversible_layers_take_no_segments() -> None:
    with pytest.raises(InputError, match="segments: expected none with rev blocks"):
        make(block="rev", norm="layer").recompute_segments((1,))


def test_dynamics_of_every_layer() -> None:
    model = make(learn_beta=True, beta=0.5, msg_norm=True)
    assert model.dynamics() == [{"beta": 0.5, "y": 0.0, "s": 1.0}] * 3
    with torch.no_grad():
        model.get_parameter("layers.1.conv.aggregation.beta").fill_(2.0)
    assert [layer["beta"] for layer in model.dynamics()] == [0.5, 2.0, 0.5]


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_layers": 0}, "num_layers: expected at least 1, got 0"),
        ({"num_layers": -3}, "num_layers: expected at least 1, got -3"),
        ({"hidden_channels": 0}, "hidden_channels: expected at least 1, got 0"),
        ({"block": "skip"}, r"block: expected one of plain, res, res\+, dense, got 'skip'"),
        ({"aggr": "median"}, "aggr: expected one of softmax, power_mean, sum, mean, max, min, got 'median'"),
        ({"level": "edge"}, "level: expected node, graph or link, got 'edge'"),
        ({"pooling": "median"}, "pooling: expected one of mean, sum, max, got 'median'"),
        ({"norm": "group"}, "norm: expected one of batch, layer, instance, pair or None"),
        ({"dropout": 1.5}, "dropout: expected a probability"),
        ({"beta": float("nan")}, "beta: expected a finite number"),
        ({"block": "dense", "virtual_node": True}, "virtual_node: expected False with dense blocks"),
        ({"layer_edge_encoder": AffineEncoder(2, 8)}, "layer_edge_encoder: expected a function"),
        ({"layer_edge_encoder": (3, "a")}, "edge_attr: expected at least one column of at least one category, got"),
        ({"block": "rev", "groups": None}, "groups: expected an integer of at least 1, got None"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({}, (X, EDGES + 1), "edge_index: target 7 of edge 6 is out of range, expected 0 to 6"),
        ({}, (X, EDGES - 1), "edge_index: source -1 of edge 0 is out of range"),
        ({}, (X, EDGES.double()), "edge_index: expected int64 or int32, got torch.float64"),
        ({}, (X, EDGES[0]), r"edge_index: expected the shape \[2, edges\]"),
        ({}, (X, None), "edge_index: expected the edges of the graph, got None"),
        (
            {},
            (torch.rand(7, 4), EDGES),
            r"x: expected a floating-point tensor \[nodes, 3\], got torch.float32 \[7, 4\]",
        ),
        ({}, (Data(edge_index=EDGES, num_nodes=7),), "x: expected node features, the graph has none"),
        ({}, ([1, 2], EDGES), "x: expected a tensor or a PyG Data, got list"),
        ({}, (Data(X.numpy(), EDGES),), "x: expected a tensor of node features, the graph has a ndarray"),
        ({"edge_encoder": 2}, (X, EDGES), "edge_attr: expected edge features, since the network was built with"),
        ({"layer_edge_encoder": 2}, (X, EDGES), "edge_attr: expected edge features, since the network was built with"),
        (
            {"edge_encoder": 2},
            (X, EDGES, torch.rand(8, 3)),
            r"edge_attr: expected a floating-point tensor \[edges, 2\]",
        ),
        ({}, (X, EDGES, torch.rand(8, 3)), r"edge_attr: expected a floating-point tensor \[edges, 8\], since"),
        ({"level": "graph"}, (X, EDGES, None, BATCH[:3]), r"batch: expected integers \[7\]"),
        ({"level": "graph"}, (X, EDGES, None, BATCH.float()), r"batch: expected integers \[7\]"),
    ],
)
def test_bad_input_is_named(options: dict[str, Any], arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**options)(*arguments)


@pytest.mark.parametrize("head", ["2", 2.5, torch.tensor(2)])
def test_a_head_is_a_width_or_a_module(head: Any) -> None:
    with pytest.raises(InputError, match="head: expected an integer of at least 1, got"):
        DeeperGCN(3, head, hidden_channels=8, num_layers=2)


def test_edge_features_of_the_networks_width_need_no_encoder() -> None:
    model = make()
    assert not torch.allclose(model(X, EDGES, torch.rand(8, 8)), model(X, EDGES))
