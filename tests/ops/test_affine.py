"""The kernels for affine edge terms of few features: long neighbourhoods, any width, any number of features."""

from dataclasses import replace

import pytest
import torch

from deepergcn import ops
from deepergcn.ops import reference
from deepergcn.ops.kernels.cpu.machine.lanes import LANES
from deepergcn.ops.operators import affine
from tests.ops.graphs import Case, leaf
from tests.ops.test_fast import assert_as_exact, gradients, wide_case

FUNCTIONS: list[tuple[str, str | None, float]] = [
    ("softmax", "beta", 1.0),
    ("softmax", "beta", -20.0),
    ("softmax", "beta", 0.0),
    ("power_mean", "p", 1.0),
    ("power_mean", "p", -20.0),
    ("power_mean", "p", 0.01),
    ("max", None, 0.0),
    ("min", None, 0.0),
    ("mean", None, 0.0),
]


def affine_case(channels: int, features: int, edge_index: torch.Tensor, nodes: int) -> Case:
    generator = torch.Generator().manual_seed(channels)
    weight, bias = torch.randn(channels, features, generator=generator), torch.randn(channels, generator=generator)
    numbers = torch.randn(edge_index.shape[1], features, generator=generator)
    return Case(torch.randn(nodes, channels, generator=generator), edge_index, nodes, ops.Affine(numbers, weight, bias))


@pytest.mark.parametrize(("function", "name", "value"), FUNCTIONS)
@pytest.mark.parametrize("rising", [True, False])
def test_a_neighbourhood_of_several_segments(function: str, name: str | None, value: float, rising: bool) -> None:
    """The dominant message changes in every segment, or in none but the first."""
    hub = torch.zeros(300, dtype=torch.long)
    leaves = torch.arange(1, 301)
    case = affine_case(LANES + 1, 2, torch.stack((torch.cat((leaves, hub)), torch.cat((hub, leaves)))), 301)
    order = torch.linspace(0, 8, 301)[:, None]
    options = {"eps": 1e-3} if function == "power_mean" else {}
    case = replace(case, x=case.x + (order if rising else order.flip(0)))
    assert_as_exact(ops, function, case, name, value, **options)


@pytest.mark.parametrize("features", range(1, 10))
def test_any_number_of_features(features: int) -> None:
    case = affine_case(20, features, torch.randint(15, (2, 80), generator=torch.Generator().manual_seed(0)), 15)
    for function in ("sum", "max"):
        assert_as_exact(ops, function, case)


@pytest.mark.parametrize("channels", [LANES, 2 * LANES - 1, 40])
def test_both_kinds_of_kernels_see_the_same_messages(channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extremum is a message, so that it tells every bit of it."""
    case = wide_case(channels, 500, nodes=40, kind="affine")
    weight = torch.randn(40, channels, generator=torch.Generator().manual_seed(1))
    ours = gradients(ops.max, case, None, None, weight)
    monkeypatch.setattr(affine, "fits", lambda x, edge: False)
    others = gradients(ops.max, case, None, None, weight)
    assert torch.equal(ours[0], others[0])
    for a, b in zip(ours[1:], others[1:], strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("function", ["sum", "max", "min", "softmax", "power_mean"])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("where", ["x", "features"])
def test_what_is_not_finite_is_not_hidden(function: str, bad: float, where: str) -> None:
    edge_index = torch.cat((torch.randint(1, 30, (2, 200)), torch.tensor([[0, 0], [3, 4]])), dim=1)
    case = affine_case(24, 8, edge_index, 30)
    assert isinstance(case.edge, ops.Affine)
    x, numbers = case.x.clone(), case.edge.features.clone()
    if where == "x":
        x[0, 17] = bad
    else:
        numbers[-1, 7] = bad
    edge = case.edge._replace(features=numbers)
    found, expected = (getattr(m, function)(leaf(x), case.adjacency, edge).detach() for m in (ops, reference))
    assert torch.equal(found.isnan(), expected.isnan())
    assert not found.isfinite().all() or expected.isfinite().all()


@pytest.mark.parametrize("p", [2.0, -1.0])
@pytest.mark.parametrize("zeros", [100, 150])
def test_a_power_mean_whose_first_segment_is_all_zeros(p: float, zeros: int) -> None:
    """A segment without a dominant message to divide by must not spoil those that follow."""
    edge_index = torch.stack((torch.arange(1, 151), torch.zeros(150, dtype=torch.long)))
    x = torch.ones(151, LANES)
    x[: zeros + 1] = 0
    edge = ops.Affine(torch.zeros(150, 2), torch.zeros(LANES, 2))
    case = Case(x, edge_index, 151, edge)
    found, expected = (m.power_mean(x, case.adjacency, edge, p=p, eps=None) for m in (ops, reference))
    assert expected.isnan().any() == (p < 0 or zeros == 150)
    torch.testing.assert_close(found, expected, equal_nan=True)
