"""The aggregators by name are the functions of ops, with their parameters learned or fixed."""

from typing import Any

import pytest
import torch
from hypothesis import given
from torch.testing import assert_close

from deepergcn import ops
from deepergcn.errors import InputError
from deepergcn.nn import AGGREGATORS, PowerMeanAggregation, SoftmaxAggregation
from deepergcn.nn.conv.aggregators import build_aggregation
from tests.ops.graphs import Case, cases


@pytest.mark.parametrize(
    ("name", "options", "function", "arguments"),
    [
        ("softmax", {"beta": 0.3, "y": 0.5}, ops.softmax, {"beta": 0.3, "y": 0.5}),
        ("power_mean", {"p": -2.0, "y": 1.0}, ops.power_mean, {"p": -2.0, "y": 1.0}),
        ("sum", {}, ops.sum, {}),
        ("mean", {}, ops.mean, {}),
        ("max", {}, ops.max, {}),
        ("min", {}, ops.min, {}),
    ],
)
@given(case=cases())
def test_a_name_stands_for_its_function(
    name: str, options: dict[str, float], function: Any, arguments: dict[str, float], case: Case
) -> None:
    out = build_aggregation(name, **options)(case.x, case.adjacency, case.edge, eps=1e-3)
    assert_close(out, function(case.x, case.adjacency, case.edge, eps=1e-3, **arguments))


def test_every_aggregator_is_made_by_its_name() -> None:
    for name, cls in AGGREGATORS.items():
        assert type(build_aggregation(name)) is cls


@given(case=cases(max_channels=3))
def test_learned_values_are_parameters_with_gradients(case: Case) -> None:
    for aggregation in (
        SoftmaxAggregation(beta=0.5, learn_beta=True, y=0.1, learn_y=True, channels=case.channels),
        PowerMeanAggregation(p=2.0, learn_p=True, y=0.1, learn_y=True, channels=case.channels),
    ):
        aggregation.double()(case.x, case.adjacency, case.edge).square().sum().backward()
        assert [tuple(p.shape) for p in aggregation.parameters()] == [(case.channels,)] * 2
        assert all(p.grad is not None and p.grad.isfinite().all() for p in aggregation.parameters())


def test_semi_gradient_gives_another_gradient_than_the_full_one() -> None:
    adjacency = ops.Adjacency.from_edge_index(torch.tensor([[0, 1], [0, 0]]), 2)
    x = torch.tensor([[1.0], [2.0]], requires_grad=True)
    full, semi = (
        torch.autograd.grad(SoftmaxAggregation(semi_gradient=semi_gradient)(x, adjacency).sum(), x)[0]
        for semi_gradient in (False, True)
    )
    assert_close(semi, torch.softmax(torch.tensor([1.0, 2.0]), 0)[:, None])
    assert not torch.allclose(full, semi)


def test_dynamics_are_the_present_values() -> None:
    softmax = SoftmaxAggregation(beta=0.5, learn_beta=True)
    with torch.no_grad():
        softmax.get_parameter("beta").add_(0.25)
    assert softmax.dynamics() == {"beta": 0.75, "y": 0.0}
    assert PowerMeanAggregation(p=3.0, learn_p=True, channels=2).dynamics() == {"p": [3.0, 3.0], "y": 0.0}
    assert build_aggregation("max").dynamics() == {}


def test_fixed_values_are_no_parameters() -> None:
    for name in AGGREGATORS:
        assert not list(build_aggregation(name).parameters())


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="expected one of softmax, power_mean, sum, mean, max, min, got 'median'"):
        build_aggregation("median")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), True, "1"])
def test_values_that_are_not_finite_numbers_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="beta: expected a finite number"):
        SoftmaxAggregation(beta=value)
    with pytest.raises(InputError, match="p: expected a finite number"):
        PowerMeanAggregation(p=value)
    with pytest.raises(InputError, match="y: expected a finite number"):
        PowerMeanAggregation(y=value)


def test_other_numbers_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(InputError, match="beta: expected a number that float32 can hold"):
        SoftmaxAggregation(beta=10**400)
    with pytest.raises(InputError, match="channels: expected at least 1, or None for one value for all"):
        SoftmaxAggregation(learn_beta=True, channels=2.5)  # type: ignore[arg-type]


def test_a_learned_value_that_became_infinite_is_noticed() -> None:
    adjacency = ops.Adjacency.from_edge_index(torch.tensor([[0], [0]]), 1)
    softmax = SoftmaxAggregation(learn_beta=True)
    with torch.no_grad():
        softmax.get_parameter("beta").fill_(float("nan"))
    with pytest.raises(InputError, match="beta: expected finite values"):
        softmax(torch.ones(1, 2), adjacency)


def test_semi_gradient_and_a_learned_beta_exclude_each_other() -> None:
    with pytest.raises(InputError, match="semi_gradient: expected False if beta is learned"):
        SoftmaxAggregation(learn_beta=True, semi_gradient=True)


@pytest.mark.parametrize("cls", [SoftmaxAggregation, PowerMeanAggregation])
def test_channels_need_something_to_learn(cls: Any) -> None:
    with pytest.raises(InputError, match="channels: expected None if nothing is learned"):
        cls(channels=4)
    with pytest.raises(InputError, match="channels: expected at least 1"):
        cls(learn_y=True, channels=0)
