"""Whatever a user wraps, hooks, extends or replaces goes PyG's way, is obeyed, and is named by the report."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.nn.utils import parametrizations, prune
from torch.testing import assert_close

import deepergcn
from tests.nn.pyg.models import EDGES, features, outcome

Tampering = Callable[[Any], object]


def conv(**options: Any) -> Any:
    torch.manual_seed(0)
    return pyg.GENConv(8, 8, edge_dim=3, **options).double()


class LowRank(nn.Module):
    """A frozen Linear layer and what is learned beside it."""

    def __init__(self, base: nn.Module) -> None:
        super().__init__()
        self.base = base
        self.down, self.up = nn.Linear(3, 2, bias=False).double(), nn.Linear(2, 8, bias=False).double()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.base(x) + self.up(self.down(x))
        return out


class Halved(pyg.SoftmaxAggregation):
    def forward(self, *arguments: Any, **options: Any) -> Tensor:
        out: Tensor = super().forward(*arguments, **options) / 2
        return out


def double_output(module: Any, inputs: Any, out: Tensor) -> Tensor:
    return 2 * out


def patch(module: Any, name: str, factor: float) -> None:
    method = getattr(module, name)
    setattr(module, name, lambda *args, **kwargs: factor * method(*args, **kwargs))


def extend(module: Any, name: str) -> None:
    """Give the module a subclass of its class, as wrappers do."""
    cls = type(module)
    method = getattr(cls, name)
    module.__class__ = type(
        cls.__name__, (cls,), {name: lambda self, *args, **kwargs: 3 * method(self, *args, **kwargs)}
    )


def replace(module: Any, name: str, build: Callable[[Any], Any]) -> None:
    torch.manual_seed(1)
    setattr(module, name, build(getattr(module, name)))


ON_THE_CONV: dict[str, tuple[Tampering, str]] = {
    "message hook": (lambda c: c.register_message_forward_hook(double_output), "hooks on its messages"),
    "aggregate hook": (lambda c: c.register_aggregate_forward_hook(double_output), "hooks on its messages"),
    "propagate hook": (lambda c: c.register_propagate_forward_hook(double_output), "hooks on its messages"),
    "message replaced": (lambda c: patch(c, "message", 3.0), "its message was replaced"),
    "aggregate replaced": (lambda c: patch(c, "aggregate", 3.0), "its aggregate was replaced"),
    "update replaced": (lambda c: patch(c, "update", 3.0), "its update was replaced"),
    "propagate replaced": (lambda c: patch(c, "propagate", 3.0), "its propagate was replaced"),
    "flow": (lambda c: setattr(c, "flow", "target_to_source"), "run against the edges"),
    "learned eps": (lambda c: setattr(c, "eps", nn.Parameter(torch.tensor(0.5).double())), "eps was replaced"),
    "aggregation hook": (lambda c: c.aggr_module.register_forward_hook(double_output), "its aggregation has hooks"),
    "aggregation replaced": (lambda c: patch(c.aggr_module, "forward", 3.0), "its forward was replaced"),
    "aggregation's reduce": (lambda c: patch(c.aggr_module, "reduce", 3.0), "its reduce was replaced"),
    "message of a subclass": (lambda c: extend(c, "message"), "its message was replaced"),
    "aggregation of a subclass": (lambda c: extend(c.aggr_module, "forward"), "its forward was replaced"),
    "aggregation extended": (lambda c: setattr(c, "aggr_module", Halved()), "Halved is not one of"),
}

ON_LIN_EDGE: dict[str, tuple[Tampering, str]] = {
    "hook": (lambda c: c.lin_edge.register_forward_hook(double_output), "lin_edge has hooks"),
    "weight norm": (lambda c: parametrizations.weight_norm(c.lin_edge), "lin_edge is ParametrizedLinear"),
    "spectral norm": (lambda c: parametrizations.spectral_norm(c.lin_edge), "lin_edge is ParametrizedLinear"),
    "pruning": (lambda c: prune.l1_unstructured(c.lin_edge, "weight", 0.5), "lin_edge has hooks"),
    "low rank": (lambda c: replace(c, "lin_edge", LowRank), "lin_edge is LowRank"),
    "sequential": (lambda c: replace(c, "lin_edge", lambda e: nn.Sequential(e, nn.Tanh())), "lin_edge is Sequential"),
    "forward replaced": (lambda c: patch(c.lin_edge, "forward", 3.0), "lin_edge: its forward was replaced"),
}


def outcomes_agree(tamper: Tampering, same_output: bool = False) -> Any:
    theirs = conv(learn_t=True)
    fast = deepergcn.accelerate(copy.deepcopy(theirs))
    arguments = (features(8), EDGES, features(3, rows=10))
    before = outcome(theirs, *arguments)[0]
    for model in (theirs, fast):
        torch.manual_seed(2)
        tamper(model)
    # Both have made the same number of calls: spectral norm learns from each.
    expected = outcome(theirs, *arguments)
    assert_close(outcome(fast, *arguments), expected)
    assert same_output or not torch.equal(expected[0], before)
    return fast


@pytest.mark.parametrize("name", ON_THE_CONV)
def test_what_is_done_to_a_convolution_is_obeyed_and_reported(name: str) -> None:
    tamper, reason = ON_THE_CONV[name]
    report = deepergcn.accelerated(outcomes_agree(tamper))
    assert reason in report.left["GENConv"]
    assert reason in str(report)


@pytest.mark.parametrize("name", ON_LIN_EDGE)
def test_what_is_done_to_its_edge_encoder_is_obeyed_and_reported(name: str) -> None:
    tamper, reason = ON_LIN_EDGE[name]
    fast = outcomes_agree(tamper, same_output=name == "weight norm")
    report = deepergcn.accelerated(fast)
    assert reason in report.partly["GENConv"]
    assert reason in str(report)


@pytest.mark.parametrize("name", ["message", "update", "aggregate", "propagate"])
def test_a_method_replaced_on_pygs_class_is_obeyed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = conv()
    fast = deepergcn.accelerate(copy.deepcopy(theirs))
    method = getattr(pyg.GENConv, name)
    monkeypatch.setattr(pyg.GENConv, name, lambda self, *args, **kwargs: 3 * method(self, *args, **kwargs))
    arguments = (features(8), EDGES, features(3, rows=10))
    assert_close(outcome(fast, *arguments), outcome(theirs, *arguments))
    assert "replaced" in deepergcn.accelerated(fast).left["GENConv"]


def test_hooks_on_every_module_of_the_process_fire() -> None:
    fast = deepergcn.accelerate(conv())
    seen: list[str] = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, *rest: seen.append(type(module).__name__))
    try:
        fast(features(8), EDGES, features(3, rows=10))
    finally:
        handle.remove()
    assert {"GENConv", "SoftmaxAggregation", "Linear"} <= set(seen)


def test_backward_hooks_fire() -> None:
    fast = deepergcn.accelerate(conv())
    seen: list[str] = []
    for module in (fast, fast.aggr_module, fast.lin_edge, fast.mlp):
        module.register_full_backward_hook(lambda module, *rest: seen.append(type(module).__name__))
    fast(features(8).requires_grad_(), EDGES, features(3, rows=10).requires_grad_()).sum().backward()
    assert sorted(seen) == ["GENConv", "Linear", "MLP", "SoftmaxAggregation"]


def test_edge_features_that_pyg_broadcasts_or_promotes() -> None:
    theirs = pyg.GENConv(8, 8).double()
    fast = deepergcn.accelerate(copy.deepcopy(theirs))
    for edge_attr in (features(8, rows=1), features(8, rows=1)[0], features(8, rows=10).float()):
        assert_close(fast(features(8), EDGES, edge_attr), theirs(features(8), EDGES, edge_attr))
    single, double = features(8).float(), pyg.GENConv(8, 8, num_layers=1)
    expected = double.propagate(EDGES, x=(single, single), edge_attr=features(8, rows=10))
    assert expected.dtype == torch.float64
    found = deepergcn.accelerate(double).propagate(EDGES, x=(single, single), edge_attr=features(8, rows=10))
    assert_close(found, expected)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: (features(8), EDGES - 1), IndexError),
        (lambda: (features(8), EDGES + 1), IndexError),
        (lambda: (features(8), EDGES.float()), ValueError),
        (lambda: (features(8), EDGES[:1]), ValueError),
        (lambda: (features(8), EDGES, features(5, rows=10)), RuntimeError),
        (lambda: (features(8), EDGES, features(3, rows=4)), RuntimeError),
        (lambda: (features(5), EDGES), RuntimeError),
    ],
)
def test_wrong_input_meets_pygs_own_error(wrong: Callable[[], Any], error: type[Exception]) -> None:
    theirs = conv()
    fast = deepergcn.accelerate(copy.deepcopy(theirs))
    with pytest.raises(error) as expected:
        theirs(*wrong())
    with pytest.raises(error) as found:
        fast(*wrong())
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)


def test_a_result_of_an_aggregation_may_be_changed_in_place() -> None:
    for theirs in (pyg.SumAggregation(), pyg.SoftmaxAggregation(t=0.5), pyg.MeanAggregation()):
        grads = []
        for module in (theirs, deepergcn.accelerate(copy.deepcopy(theirs))):
            x = features(8, rows=10).requires_grad_()
            module(x, EDGES[1]).add_(1).pow(2).sum().backward()
            grads.append(x.grad)
        assert_close(grads[1], grads[0])


@pytest.mark.parametrize("theirs", [pyg.SumAggregation(), pyg.MeanAggregation(), pyg.PowerMeanAggregation()])
def test_messages_may_be_changed_in_place_where_pyg_does_not_keep_them(theirs: nn.Module) -> None:
    grads = []
    for module in (theirs, deepergcn.accelerate(copy.deepcopy(theirs))):
        x = features(8, rows=10).abs().requires_grad_()
        messages = x * 1
        out = module(messages, EDGES[1], None, 7)
        messages.zero_()
        out.pow(2).sum().backward()
        grads.append(x.grad)
    assert_close(grads[1], grads[0])


@pytest.mark.parametrize("aggr", ["softmax", "powermean", "mean", "max"])
def test_features_of_inference_mode(aggr: str) -> None:
    with torch.inference_mode():
        x = features(8)
    theirs = conv(aggr=aggr, learn_t=True, learn_p=True)
    for arguments in ((x, EDGES), (x, EDGES, features(3, rows=10))):
        found = []
        for model in (theirs, deepergcn.accelerate(copy.deepcopy(theirs))):
            out = model(*arguments)
            found.append([out, torch.autograd.grad(out.square().sum(), model.parameters(), allow_unused=True)])
        assert_close(found[1], found[0])


@pytest.mark.parametrize("p", [-1.0, 2.0])
def test_nan_in_the_messages_of_a_power_mean(p: float) -> None:
    theirs = pyg.PowerMeanAggregation(p, learn=True).double()
    x = features(8, rows=10, low=0.5)
    x[3, 2] = torch.nan
    assert_close(
        outcome(deepergcn.accelerate(copy.deepcopy(theirs)), x, EDGES[1], None, 7),
        outcome(theirs, x, EDGES[1], None, 7),
        equal_nan=True,
    )
