"""GENConv is equations (4) and (5), equivariant, and clear about what it is given."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close
from torch_geometric.typing import OptTensor

from deepergcn.errors import InputError
from deepergcn.nn import AffineEncoder, GENConv, MeanAggregation
from deepergcn.nn.encoders.edges import Categories
from deepergcn.nn.norms import BatchNorm
from deepergcn.ops import Adjacency, reference
from tests.ops.graphs import DTYPES, Case, cases

AGGREGATORS: list[dict[str, Any]] = [
    {"aggr": "softmax", "learn_beta": True, "beta": 0.5, "y": 0.3, "learn_y": True},
    {"aggr": "softmax", "beta": 0.5, "semi_gradient": True},
    {"aggr": "power_mean", "learn_p": True, "p": 2.0, "learn_y": True, "msg_norm": True},
    {"aggr": "sum", "msg_norm": True, "root_weight": True},
    {"aggr": "mean", "norm": "instance"},
    {"aggr": "max", "mlp_layers": 1},
    {"aggr": "min", "mlp_layers": 3, "bias": False},
]


def make(channels: int, dtype: torch.dtype = torch.float64, **options: Any) -> GENConv:
    torch.manual_seed(0)
    conv = GENConv(channels, channels, **{"norm": "layer", **options})
    conv.to(dtype)
    return conv


@pytest.mark.parametrize("options", AGGREGATORS, ids=lambda options: str(options["aggr"]))
@settings(max_examples=15)
@given(case=cases(bipartite=False), dtype=st.sampled_from(DTYPES), seed=st.integers(0, 99))
def test_renaming_the_vertices_renames_the_output(
    options: dict[str, Any], case: Case, dtype: torch.dtype, seed: int
) -> None:
    case = case.to(dtype)
    conv = make(case.channels, dtype, **options)
    name = torch.randperm(len(case.x), generator=torch.Generator().manual_seed(seed))
    x = torch.empty_like(case.x)
    x[name] = case.x
    renamed = conv(x, name[case.edge_index], case.edge)
    assert_close(renamed[name], conv(case.x, case.edge_index, case.edge), rtol=1e-4, atol=1e-5)


@given(case=cases())
def test_it_is_the_mlp_of_vertex_plus_message(case: Case) -> None:
    conv = make(case.channels, aggr="softmax", beta=0.5)
    target = torch.ones(case.num_targets, case.channels, dtype=torch.float64)
    m = reference.softmax(case.x, case.adjacency, case.edge, beta=0.5)
    assert_close(conv((case.x, target), case.edge_index, case.edge), conv.mlp(target + m))


@given(case=cases())
def test_with_msg_norm_the_message_is_scaled_to_the_vertex(case: Case) -> None:
    conv = make(case.channels, aggr="mean", msg_norm=True)
    target = torch.full((case.num_targets, case.channels), 2.0, dtype=torch.float64)
    m = reference.mean(case.x, case.adjacency, case.edge)
    scaled = target.norm(dim=1, keepdim=True) * nn.functional.normalize(m, dim=1)
    assert_close(conv((case.x, target), case.edge_index, case.edge), conv.mlp(target + scaled))


@given(case=cases())
def test_with_a_root_weight_the_vertex_passes_the_mlp_by(case: Case) -> None:
    conv = make(case.channels, aggr="mean", root_weight=True)
    target = torch.full((case.num_targets, case.channels), 2.0, dtype=torch.float64)
    m = reference.mean(case.x, case.adjacency, case.edge)
    assert conv.root is not None
    expected = conv.mlp(m) + target @ conv.root.weight.T
    assert_close(conv((case.x, target), case.edge_index, case.edge), expected)
    assert_close(conv((case.x, None), case.edge_index, case.edge, (len(case.x), case.num_targets)), conv.mlp(m))


@pytest.mark.parametrize(
    "options", [o for o in AGGREGATORS if "semi_gradient" not in o], ids=lambda options: str(options["aggr"])
)
def test_gradients_of_x_edges_and_every_parameter(options: dict[str, Any]) -> None:
    conv = make(2, edge_encoder=3, **options)
    edge_index = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 0, 0, 3, 3]])
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(5, 2, dtype=torch.float64, generator=generator, requires_grad=True)
    edge = torch.rand(6, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    names = [name for name, _ in conv.named_parameters()]

    def function(x: Tensor, edge: Tensor, *values: Tensor) -> Tensor:
        parameters = dict(zip(names, values, strict=True))
        out: Tensor = torch.func.functional_call(conv, parameters, (x, edge_index, edge))
        return out

    assert torch.autograd.gradcheck(function, (x, edge, *conv.parameters()), atol=1e-5)


def test_widths_that_differ_are_projected() -> None:
    conv = GENConv((3, 5), 8, edge_encoder=2)
    assert isinstance(conv.source_projection, nn.Linear)
    assert isinstance(conv.target_projection, nn.Linear)
    assert conv.source_projection.weight.shape == (8, 3)
    assert conv.target_projection.weight.shape == (8, 5)
    out = conv((torch.rand(4, 3), torch.rand(2, 5)), torch.tensor([[0, 3], [1, 0]]), torch.rand(2, 2))
    assert out.shape == (2, 8)
    assert GENConv((8, 5), 8).source_projection is None
    assert GENConv((3, 8), 8).target_projection is None


@given(case=cases(edges=(None,)))
def test_every_form_of_the_graph_gives_the_same(case: Case) -> None:
    conv = make(case.channels)
    pair = (case.x, torch.zeros(case.num_targets, case.channels, dtype=torch.float64))
    expected = conv(pair, case.adjacency)
    assert_close(conv(pair, case.edge_index), expected)
    size = (case.num_targets, len(case.x))
    sparse = torch.sparse_coo_tensor(
        case.edge_index.flip(0), torch.ones(case.edge_index.shape[1]), size, check_invariants=True
    )
    assert_close(conv(pair, sparse), expected)


def test_the_mlp_has_the_papers_form() -> None:
    one = GENConv(4, 4, mlp_layers=1).mlp
    assert [type(m) for m in one] == [nn.Linear]
    two = GENConv(4, 4, expansion=3, norm="layer").mlp
    assert [type(m) for m in two] == [nn.Linear, nn.LayerNorm, nn.ReLU, nn.Linear]
    assert two[0].weight.shape == (12, 4)
    assert two[3].bias is not None
    assert [type(m) for m in GENConv(4, 4, norm=None).mlp] == [nn.Linear, nn.ReLU, nn.Linear]
    assert isinstance(GENConv(4, 4).mlp[1], BatchNorm)
    assert all("bias" not in name for name, _ in GENConv(4, 4, bias=False, norm=None).named_parameters())


def test_dynamics_are_those_of_the_layer() -> None:
    assert GENConv(4, 4, beta=0.5, msg_norm=True).dynamics() == {"beta": 0.5, "y": 0.0, "s": 1.0}
    assert GENConv(4, 4, aggr="power_mean", p=2.0, y=1.0).dynamics() == {"p": 2.0, "y": 1.0}
    assert GENConv(4, 4, aggr="max").dynamics() == {}
    assert isinstance(GENConv(4, 4, aggr=MeanAggregation()).aggregation, MeanAggregation)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aggr": "median"}, "aggr: expected one of softmax, power_mean, sum, mean, max, min, got 'median'"),
        ({"beta": float("inf")}, "beta: expected a finite number, got inf"),
        ({"aggr": "power_mean", "p": float("nan")}, "p: expected a finite number, got nan"),
        ({"norm": "group"}, "norm: expected one of batch, layer, instance, pair or None, got 'group'"),
        ({"mlp_layers": 0}, "mlp_layers: expected at least 1, got 0"),
        ({"expansion": 0}, "expansion: expected at least 1, got 0"),
        ({"eps": 0.0}, "eps: expected a small positive number, got 0.0"),
        ({"eps": float("nan")}, "eps: expected a small positive number"),
        ({"aggr": "max", "learn_beta": True}, "learn_beta: only softmax can have it, got aggr='max'"),
        ({"aggr": "power_mean", "semi_gradient": True}, "semi_gradient: only softmax can have it"),
        ({"learn_p": True}, "learn_p: only power_mean can have it, got aggr='softmax'"),
        ({"aggr": "sum", "y": 1.0}, "y and learn_y: only softmax and power_mean can have it"),
        ({"learn_beta": True, "semi_gradient": True}, "semi_gradient: expected False if beta is learned"),
        ({"edge_encoder": 0}, "edge_encoder: expected a width of at least 1"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GENConv(4, 4, **options)


@pytest.mark.parametrize("in_channels", [0, (4, 0)])
def test_zero_channels_are_refused(in_channels: Any) -> None:
    with pytest.raises(InputError, match="in_channels: expected at least 1, got 0"):
        GENConv(in_channels, 4)
    with pytest.raises(InputError, match="out_channels: expected at least 1, got 0"):
        GENConv(4, 0)


@pytest.mark.parametrize("in_channels", [(4,), [4, 4, 4]])
def test_widths_are_one_or_two(in_channels: Any) -> None:
    with pytest.raises(InputError, match=r"in_channels: expected a width, or a pair for \(source, target\), got"):
        GENConv(in_channels, 4)


EDGES = torch.tensor([[0, 1], [1, 2]])
X = torch.rand(3, 4)


@pytest.mark.parametrize(
    ("encoder", "arguments", "message"),
    [
        (None, (X, torch.tensor([[0, 1], [1, 3]])), "edge_index: target 3 of edge 1 is out of range, expected 0 to 2"),
        (None, (X, torch.tensor([[-1, 1], [1, 2]])), "edge_index: source -1 of edge 0 is out of range"),
        (None, (X, EDGES.float()), "edge_index: expected int64 or int32, got torch.float32"),
        (None, (X, EDGES.T.repeat(2, 1)), r"edge_index: expected the shape \[2, edges\], got \[4, 2\]"),
        (None, (X, "graph"), "edge_index: expected an Adjacency"),
        (None, (X, Adjacency.from_edge_index(EDGES, 5)), "edge_index: has 5 sources, but x has 3"),
        (None, (torch.rand(3, 5), EDGES), r"x: expected floating-point source features \[nodes, 4\]"),
        (None, (None, EDGES), "x: expected features or a pair of them, of sources and of targets, got NoneType"),
        (None, ((X, X, X), EDGES), "x: expected features or a pair of them, of sources and of targets, got a tuple of"),
        (None, (X.numpy(), EDGES), "x: expected features or a pair of them, of sources and of targets, got ndarray"),
        (None, ((X, X.numpy()), EDGES), r"x: expected floating-point target features \[nodes, 4\], got ndarray"),
        (None, ((None, X), EDGES), r"x: expected floating-point source features \[nodes, 4\], got None"),
        (None, ((X, X.long()), EDGES), r"x: expected floating-point target features \[nodes, 4\], got torch.int64"),
        (None, (X.long(), EDGES), "x: expected floating-point source features"),
        (None, (X, EDGES, torch.rand(2, 3)), r"edge_attr: expected a floating-point tensor \[edges, 4\], since"),
        (None, (X, EDGES, torch.zeros(2, 4).long()), "edge_attr: expected a floating-point tensor"),
        (None, (X, EDGES, torch.rand(3, 4)), r"edge features: expected a floating-point tensor \[2, 4\]"),
        (
            None,
            (X, EDGES, Categories(EDGES[0], EDGES)),
            "edge_attr: expected a floating-point tensor .* got categories",
        ),
        (8, (X, EDGES), "edge_attr: expected edge features, since the layer was built with an edge encoder"),
        (8, (X, EDGES, torch.rand(2, 7)), r"edge_attr: expected a floating-point tensor \[edges, 8\]"),
        (8, (X, EDGES, torch.rand(3, 8)), "edge features"),
        ((5, 2), (X, EDGES, torch.tensor([[5, 0], [0, 0]])), "edge_attr: category 5 in row 0, column 0"),
        (AffineEncoder(8, 5), (X, EDGES, torch.rand(2, 8)), "edge"),
    ],
)
def test_bad_input_is_named(encoder: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GENConv(4, 4, edge_encoder=encoder)(*arguments)


@pytest.mark.parametrize("norm", ["batch", "layer", "instance", None])
@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_any_number_of_vertices_without_edges(norm: Any, nodes: int) -> None:
    conv = GENConv(4, 4, norm=norm, edge_encoder=2)
    x = torch.rand(nodes, 4, requires_grad=True)
    out = conv(x, torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, 2))
    out.sum().backward()
    assert_close(out, conv.mlp(x), equal_nan=False)
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert all(buffer.isfinite().all() for buffer in conv.buffers())


def test_no_code_is_generated_in_the_folder_of_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Doubled(GENConv):
        def message(self, x_j: Tensor, edge: OptTensor) -> Tensor:
            return 2 * super().message(x_j, edge)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    x, edges = torch.rand(3, 4), torch.tensor([[0, 1, 2], [1, 2, 0]])
    torch.manual_seed(0)
    plain = GENConv(4, 4, aggr="sum", norm=None)
    torch.manual_seed(0)
    doubled = Doubled(4, 4, aggr="sum", norm=None)
    assert not torch.equal(plain(x, edges), doubled(x, edges))
    assert not list(tmp_path.iterdir())
