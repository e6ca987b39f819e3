"""Converted modules give PyG's outputs and gradients; each place where they differ is stated here."""

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.testing import assert_close
from torch_geometric.typing import OptTensor

from deepergcn.errors import InputError
from deepergcn.nn import GENConv, MessageNorm, ResPlusBlock, from_pyg
from deepergcn.nn.pyg.accelerate import accelerate
from deepergcn.nn.pyg.from_pyg import IndexedAggregation
from deepergcn.ops import Adjacency
from tests.nn.pyg.models import EDGES, DeeperGCN, features, outcome


def make(*channels: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    conv = pyg.GENConv(*(channels or (8, 8)), **options).double()
    with torch.no_grad():
        for parameter in conv.parameters():  # other than their initial values, which are often 0 or 1
            parameter.add_(0.1 * torch.randn_like(parameter))
    return conv


def assert_same(theirs: nn.Module, ours: nn.Module, *arguments: Any) -> None:
    """Equal output and input gradients, and the same set of parameter gradients in whatever order they stand."""
    out, inputs, parameters = outcome(theirs, *arguments)
    our_out, our_inputs, our_parameters = outcome(ours, *arguments)
    assert_close(our_out, out)
    assert_close(our_inputs, inputs)
    assert _sorted(our_parameters) == pytest.approx(_sorted(parameters), rel=1e-6, abs=1e-9)


def _sorted(gradients: list[Tensor]) -> list[float]:
    return sorted(float(value) for gradient in gradients for value in gradient.flatten())


# Where PyG's formula agrees with the paper


@pytest.mark.parametrize("edge_dim", [None, 8, 3, 70])
@pytest.mark.parametrize(
    "options",
    [
        {"aggr": "softmax", "t": 0.3},
        {"aggr": "softmax", "t": 0.3, "learn_t": True, "bias": True},
        {"aggr": "softmax_sg", "t": 2.0, "norm": "layer"},
        {"aggr": "add", "num_layers": 1, "msg_norm": True},
        {"aggr": "mean", "num_layers": 3, "expansion": 3, "msg_norm": True, "learn_msg_scale": True},
        {"aggr": "max", "norm": None, "eps": 1e-3},
        {"aggr": "min"},
        {"aggr": ["mean", "softmax", "max"], "bias": True},
        {"aggr": "softmax", "aggr_kwargs": {"t": 0.5, "learn": True, "channels": 8}},
    ],
    ids=str,
)
def test_gen_conv(options: dict[str, Any], edge_dim: int | None) -> None:
    theirs = make(edge_dim=edge_dim, **options)
    edge_attr = None if edge_dim is None else features(edge_dim, rows=10)
    assert_same(theirs, from_pyg(theirs), features(8), EDGES, edge_attr)


@pytest.mark.parametrize("edge_dim", [None, 3])
@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("p", [-1.0, 0.5, 1.0, 3.0])
def test_power_mean_where_no_clamp_bites(p: float, learn: bool, edge_dim: int | None) -> None:
    theirs = make(aggr="powermean", p=p, learn_p=learn, edge_dim=edge_dim)
    with torch.no_grad():
        if edge_dim is not None:
            theirs.lin_edge.weight.abs_()
    edge_attr = None if edge_dim is None else features(3, rows=10, low=0.0, high=0.5)
    assert_same(theirs, from_pyg(theirs), features(8, low=0.5, high=1.5), EDGES, edge_attr)


def test_instance_norm() -> None:
    theirs = make(norm="instance")
    with pytest.warns(UserWarning, match="does not match num_features"):
        assert_same(theirs, from_pyg(theirs), features(8), EDGES, None)


@pytest.mark.parametrize("channels", [((8, 5), 8), ((3, 8), 8), ((3, 5), 8), (3, 8)])
def test_projections_and_bipartite_graphs(channels: Any) -> None:
    theirs = make(*channels, bias=True)
    sources, targets = channels[0] if isinstance(channels[0], tuple) else (channels[0],) * 2
    edge_index = torch.tensor([[0, 1, 6, 3], [0, 1, 2, 2]])
    ours = from_pyg(theirs)
    pair = features(sources), features(targets, rows=3)
    assert_close(ours(pair, edge_index), theirs(pair, edge_index))
    if isinstance(channels[0], int):
        assert_same(theirs, ours, features(3), EDGES)


def test_a_lazy_layer_keeps_its_projections_at_any_width() -> None:
    theirs = pyg.GENConv(-1, 8).double()
    theirs(features(8), EDGES)
    assert_same(theirs, from_pyg(theirs), features(8), EDGES)


def test_running_statistics_precision_mode_and_frozen_weights_come_along() -> None:
    theirs = make().float()
    theirs(features(8).float(), EDGES)
    theirs.mlp[0].weight.requires_grad_(False)
    ours = from_pyg(theirs.eval())
    assert isinstance(ours, GENConv)
    assert not ours.training
    assert not ours.mlp[0].weight.requires_grad
    x = features(8).float()
    assert_close(ours(x, EDGES), theirs(x, EDGES))


@pytest.mark.parametrize("block", ["res+", "res", "dense", "plain"])
@pytest.mark.parametrize("ckpt_grad", [False, True])
def test_deep_gcn_layer(block: str, ckpt_grad: bool) -> None:
    theirs = pyg.DeepGCNLayer(
        make(), nn.BatchNorm1d(8).double(), nn.ReLU(), block=block, dropout=0.3, ckpt_grad=ckpt_grad
    )
    ours = from_pyg(theirs)
    # The same numbers fall for dropout, whichever code draws them, only without it: in evaluation.
    assert_same(theirs.eval(), ours.eval(), features(8), EDGES)
    theirs.dropout, ours.dropout = 0.0, 0.0  # type: ignore[assignment]
    assert_same(theirs.train(), ours.train(), features(8), EDGES)


def test_message_norm() -> None:
    theirs = pyg.MessageNorm(learn_scale=True).double()
    with torch.no_grad():
        theirs.scale.fill_(1.7)
    ours = from_pyg(theirs)
    assert isinstance(ours, MessageNorm)
    assert_same(theirs, ours, features(8), features(8).flip(0))
    assert not list(from_pyg(pyg.MessageNorm()).parameters())


@pytest.mark.parametrize(
    "theirs",
    [
        pyg.SoftmaxAggregation(t=0.3),
        pyg.SoftmaxAggregation(t=0.3, semi_grad=True),
        pyg.SoftmaxAggregation(t=0.3, learn=True, channels=8),
        pyg.PowerMeanAggregation(p=2.0),
        pyg.PowerMeanAggregation(p=2.0, learn=True, channels=8),
    ],
    ids=str,
)
def test_aggregations_are_called_as_pyg_calls_them(theirs: Any) -> None:
    theirs = theirs.double()
    ours = from_pyg(theirs)
    x = features(8, rows=10, low=0.5)
    index = torch.tensor([0, 0, 1, 3, 3, 3, 2, 2, 1, 0])
    assert_same(theirs, ours, x, index)
    assert_close(ours(x, ptr=torch.tensor([0, 4, 10])), theirs(x, ptr=torch.tensor([0, 4, 10])))
    assert_close(ours(x), theirs(x))


def test_a_whole_model_runs_unchanged_around_the_converted_modules() -> None:
    torch.manual_seed(0)
    theirs = DeeperGCN().double().eval()
    before = {name: value.clone() for name, value in theirs.state_dict().items()}
    ours = from_pyg(theirs)
    assert_same(theirs, ours, features(3), EDGES, features(2, rows=10))
    assert_close(theirs.state_dict(), before)
    assert isinstance(theirs.layers[1], pyg.DeepGCNLayer)
    assert isinstance(ours.get_submodule("layers.1"), ResPlusBlock)
    assert isinstance(ours.get_submodule("layers.1.conv"), GENConv)


@pytest.mark.parametrize("aggr", ["softmax", "powermean", "sum"])
def test_modules_that_were_accelerated(aggr: str) -> None:
    theirs = make(aggr=aggr).eval()
    expected = from_pyg(theirs)
    accelerate(theirs)
    assert_same(expected, from_pyg(theirs), features(8), EDGES)


def test_a_module_in_two_places_stays_one() -> None:
    layer = pyg.DeepGCNLayer(make(), nn.LayerNorm(8).double(), nn.ReLU())
    theirs = nn.ModuleList([layer, layer, pyg.DeepGCNLayer(layer.conv, nn.LayerNorm(8).double(), nn.ReLU())])
    ours = from_pyg(theirs)
    assert ours.get_submodule("0") is ours.get_submodule("1")
    assert ours.get_submodule("2.conv") is ours.get_submodule("0.conv")


def test_weights_that_modules_share_are_not_parted() -> None:
    one, tied, softmax = make(learn_t=True), make(learn_t=True), make(learn_t=True)
    tied.mlp[0].weight = one.mlp[0].weight
    softmax.aggr_module = one.aggr_module
    for other, name in ((tied, "mlp.0.weight"), (softmax, "aggr_module.t")):
        with pytest.raises(InputError, match=rf"ModuleList: its modules share weights \(0.{name} and 1.{name}\)"):
            from_pyg(nn.ModuleList([one, other]))


def test_aggregations_inside_other_convolutions() -> None:
    torch.manual_seed(0)
    theirs = pyg.SAGEConv(8, 8, aggr=pyg.SoftmaxAggregation(learn=True)).double()
    ours = from_pyg(theirs)
    assert isinstance(ours.get_submodule("aggr_module"), IndexedAggregation)
    assert_same(theirs, ours, features(8), EDGES)


# Where it does not


def test_difference_the_power_mean_has_no_clamps() -> None:
    theirs = make(aggr="powermean", p=5.0)
    ours = from_pyg(theirs)
    small = torch.full((7, 8), 0.05, dtype=torch.float64)
    # Mean of the fifth powers, 3e-7, clamped to 1e-4 before the root: PyG gives 0.158 for messages of 0.05.
    assert_close(theirs.propagate(EDGES, x=(small, small), edge_attr=None), torch.full_like(small, 1e-4**0.2))
    assert isinstance(ours, GENConv)
    assert_close(ours.aggregation(small, Adjacency.from_edge_index(EDGES, 7)), small + 1e-7)


def test_difference_the_power_mean_of_nothing_is_zero() -> None:
    theirs = pyg.PowerMeanAggregation(p=2.0)
    x, index = torch.ones(1, 3), torch.tensor([1])
    assert_close(theirs(x, index)[0], torch.full((3,), 1e-2))
    assert_close(from_pyg(theirs)(x, index)[0], torch.zeros(3))


def test_difference_the_power_mean_is_of_positive_messages_only() -> None:
    theirs = pyg.PowerMeanAggregation(p=2.0)
    x, index = torch.tensor([[-1.0]]), torch.tensor([0])
    assert_close(theirs(x, index), torch.tensor([[1e-2]]))
    with pytest.raises(InputError, match=r"x: expected positive messages for the power mean, got -1.0"):
        from_pyg(theirs)(x, index)


def test_difference_biases_are_on_by_default() -> None:
    assert pyg.GENConv(8, 8).mlp[0].bias is None
    assert GENConv(8, 8).mlp[0].bias is not None
    assert from_pyg(pyg.GENConv(8, 8)).get_submodule("mlp.0").bias is None


def test_difference_missing_edge_features_are_an_error() -> None:
    theirs = make(edge_dim=3)
    assert theirs(features(8), EDGES).shape == (7, 8)
    with pytest.raises(InputError, match="edge_attr: expected edge features"):
        from_pyg(theirs)(features(8), EDGES)


def test_difference_an_edge_encoder_may_have_the_width_of_the_convolution() -> None:
    assert not hasattr(pyg.GENConv(8, 8, edge_dim=8), "lin_edge")
    assert GENConv(8, 8, edge_encoder=8).edge_encoder is not None


def test_difference_recomputation_is_not_reentrant(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def spy(function: Any, *args: Any, use_reentrant: bool, **kwargs: Any) -> Any:
        seen.append(use_reentrant)
        return function(*args)

    monkeypatch.setattr("torch_geometric.nn.models.deepgcn.checkpoint", spy)
    monkeypatch.setattr("deepergcn.nn.recompute.checkpoint", spy)
    theirs = pyg.DeepGCNLayer(make(), nn.LayerNorm(8).double(), nn.ReLU(), ckpt_grad=True)
    theirs(features(8).requires_grad_(), EDGES)
    from_pyg(theirs)(features(8).requires_grad_(), EDGES)
    assert seen == [True, False]


# What is refused


class Louder(pyg.GENConv):
    def message(self, x_j: Tensor, edge_attr: OptTensor) -> Tensor:
        return 2 * x_j


def with_dropout() -> Any:
    conv = make()
    conv.mlp[3].p = 0.5
    return conv


def changed(path: str, change: Any) -> Any:
    """A GENConv with a part that was changed."""
    conv = make(edge_dim=3)
    change(conv.get_submodule(path))
    return conv


def replaced(path: str, part: nn.Module) -> Any:
    conv = make(edge_dim=3)
    conv.set_submodule(path, part)
    return conv


def own_message() -> Any:
    conv = make()
    conv.message = lambda x_j, edge_attr: 2 * x_j
    return conv


def hook(module: nn.Module) -> None:
    module.register_forward_hook(lambda module, inputs, output: 2 * output)


def hooked_relu() -> nn.Module:
    relu = nn.ReLU()
    hook(relu)
    return relu


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        (own_message(), "GENConv: its message was replaced; expected GENConv as PyG defines it"),
        (changed("", hook), "GENConv: has hooks or a forward of its own, which its equivalent would not have"),
        (changed("mlp.0", hook), "GENConv.mlp.0: has hooks"),
        (changed("aggr_module", hook), "GENConv.aggr_module: has hooks"),
        (changed("lin_edge", parametrizations.weight_norm), "GENConv.lin_edge: expected a Linear layer, got Parametr"),
        (replaced("lin_edge", nn.Sequential(nn.Linear(3, 8))), "GENConv.lin_edge: expected a Linear layer, got Seq"),
        (replaced("mlp.1", nn.GroupNorm(2, 16)), "GENConv: expected the MLP that GENConv builds"),
        (replaced("mlp.2", nn.GELU()), "GENConv: expected the MLP that GENConv builds"),
        (replaced("mlp.1", nn.BatchNorm1d(16, affine=False)), "GENConv: expected the weights that GENConv builds"),
        (
            pyg.GENConv(8, 8, aggr=["mean", "max"], aggr_kwargs={"mode": "sum"}),
            "GENConv: expected SoftmaxAggregation, .* or several of them concatenated, got Multi",
        ),
        (pyg.GENConv(8, 8, aggr="median"), "GENConv: expected SoftmaxAggregation, "),
        (pyg.GENConv(8, 8, flow="target_to_source"), "GENConv: expected messages from source to target"),
        (pyg.GENConv(-1, 8), "GENConv: its widths are not known yet; call it once before"),
        (pyg.GENConv(3, 8, msg_norm=True), "GENConv: MsgNorm by features of another width"),
        (Louder(8, 8), "Louder: Louder changes GENConv and has no equivalent here"),
        (with_dropout(), "GENConv: expected the MLP that GENConv builds, without dropout"),
        (pyg.DeepGCNLayer(make(), nn.LayerNorm(8), nn.ELU()), r"DeepGCNLayer: expected ReLU or no activation, got ELU"),
        (pyg.DeepGCNLayer(make(), nn.LayerNorm(8), hooked_relu()), "DeepGCNLayer.act: has hooks"),
        (nn.Sequential(nn.Linear(3, 8), Louder(8, 8)), "Sequential.1: Louder changes GENConv"),
    ],
    ids=lambda value: str(value).splitlines()[0],
)
def test_what_has_no_equal_is_refused(theirs: nn.Module, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_pyg(theirs)
