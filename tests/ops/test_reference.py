"""The definitions hold the paper's properties, in float32 and float64."""

import functools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from deepergcn.errors import InputError
from deepergcn.ops import Adjacency, Affine, Table, reference
from tests.ops.graphs import DTYPES, Case, cases, leaf

Aggregate = Callable[..., Tensor]

AGGREGATORS: dict[str, Aggregate] = {
    "sum": reference.sum,
    "mean": reference.mean,
    "max": reference.max,
    "min": reference.min,
    "softmax": functools.partial(reference.softmax, beta=0.7),
    "softmax, semi-gradient": functools.partial(reference.softmax, beta=0.7, semi_gradient=True),
    "softmax, beta < 0": functools.partial(reference.softmax, beta=-2.0),
    "power mean": functools.partial(reference.power_mean, p=2.5),
    "power mean, p < 0": functools.partial(reference.power_mean, p=-1.5),
    "power mean, p = 0": functools.partial(reference.power_mean, p=0.0),
}

dtypes = st.sampled_from(DTYPES)


def aggregate(function: Aggregate, case: Case, **options: object) -> Tensor:
    return function(case.x, case.adjacency, case.edge, **options)


def messages_of(case: Case, vertex: int) -> Tensor:
    """The messages that one vertex receives, [|N(v)|, channels], by the equation."""
    h = case.x[case.edge_index[0]]
    if case.edge is not None:
        h = h + case.edge.materialize()
    return (h.clamp(min=0) + 1e-7)[case.edge_index[1] == vertex]


def by_vertex(case: Case, formula: Callable[[Tensor], Tensor]) -> Tensor:
    """``formula`` of each vertex's messages, 0 where there are none."""
    out = case.x.new_zeros(case.num_targets, case.channels)
    for v in range(case.num_targets):
        m = messages_of(case, v)
        if len(m):
            out[v] = formula(m)
    return out


# What each aggregation is


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("sum", lambda m: m.sum(0)),
        ("mean", lambda m: m.mean(0)),
        ("max", lambda m: m.amax(0)),
        ("min", lambda m: m.amin(0)),
        ("softmax", lambda m: (torch.softmax(0.7 * m, 0) * m).sum(0)),
        ("softmax, semi-gradient", lambda m: (torch.softmax(0.7 * m, 0) * m).sum(0)),
        ("softmax, beta < 0", lambda m: (torch.softmax(-2.0 * m, 0) * m).sum(0)),
        ("power mean", lambda m: (m**2.5).mean(0) ** (1 / 2.5)),
        ("power mean, p < 0", lambda m: (m**-1.5).mean(0) ** (-1 / 1.5)),
        ("power mean, p = 0", lambda m: m.log().mean(0).exp()),
    ],
)
@given(case=cases())
def test_equals_the_formula(name: str, formula: Callable[[Tensor], Tensor], case: Case) -> None:
    assert_close(aggregate(AGGREGATORS[name], case), by_vertex(case, formula), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", AGGREGATORS)
@given(case=cases(), dtype=dtypes, seed=st.integers(0, 1000))
def test_does_not_depend_on_the_order_of_edges(name: str, case: Case, dtype: torch.dtype, seed: int) -> None:
    case = case.to(dtype)
    order = torch.randperm(case.edge_index.shape[1], generator=torch.Generator().manual_seed(seed))
    assert_close(aggregate(AGGREGATORS[name], case), aggregate(AGGREGATORS[name], case.permute_edges(order)))


@pytest.mark.parametrize("name", AGGREGATORS)
@given(case=cases(), dtype=dtypes)
def test_vertices_without_neighbours_get_zero(name: str, case: Case, dtype: torch.dtype) -> None:
    case = case.to(dtype).leaves()
    out = aggregate(AGGREGATORS[name], case)
    assert out.shape == (case.num_targets, case.channels)
    assert out.dtype == dtype
    assert (out[case.adjacency.degree() == 0] == 0).all()
    out.sum().backward()
    assert all(t.grad is not None and t.grad.isfinite().all() for t in case.tensors())


# The families and their limits


@given(case=cases(), dtype=dtypes, beta=st.sampled_from([0.0, 1e-9, -1e-9]))
def test_softmax_tends_to_mean_as_beta_tends_to_0(case: Case, dtype: torch.dtype, beta: float) -> None:
    case = case.to(dtype)
    assert_close(aggregate(reference.softmax, case, beta=beta), aggregate(reference.mean, case))


@given(case=cases(), dtype=dtypes)
def test_softmax_at_ten_thousand_is_max_and_min(case: Case, dtype: torch.dtype) -> None:
    # Values on a grid of 1/8, so that no two messages are close enough for a weight between 0 and 1.
    case = case.map(lambda t: (t * 8).round() / 8).to(dtype)
    assert_close(aggregate(reference.softmax, case, beta=1e4), aggregate(reference.max, case))
    assert_close(aggregate(reference.softmax, case, beta=-1e4), aggregate(reference.min, case))


@given(case=cases(), dtype=dtypes)
def test_power_mean_at_one_is_mean(case: Case, dtype: torch.dtype) -> None:
    case = case.to(dtype)
    assert_close(aggregate(reference.power_mean, case, p=1.0), aggregate(reference.mean, case))


@given(case=cases(), dtype=dtypes)
def test_power_mean_at_minus_one_is_harmonic(case: Case, dtype: torch.dtype) -> None:
    case = case.to(dtype)
    harmonic = by_vertex(case, lambda m: 1 / (1 / m).mean(0))
    assert_close(aggregate(reference.power_mean, case, p=-1.0), harmonic, rtol=1e-5, atol=0)


@given(case=cases(), dtype=dtypes, p=st.sampled_from([0.0, 1e-9, -1e-9]))
def test_power_mean_tends_to_geometric_as_p_tends_to_0(case: Case, dtype: torch.dtype, p: float) -> None:
    case = case.to(dtype)
    geometric = by_vertex(case.to(torch.float64), lambda m: m.log().mean(0).exp()).to(dtype)
    assert_close(aggregate(reference.power_mean, case, p=p), geometric, rtol=1e-5, atol=0)


@given(case=cases(), dtype=dtypes)
def test_power_mean_at_a_thousand_is_near_max_and_min(case: Case, dtype: torch.dtype) -> None:
    case = case.to(dtype)
    assert_close(aggregate(reference.power_mean, case, p=1e3), aggregate(reference.max, case), rtol=0.01, atol=0)
    assert_close(aggregate(reference.power_mean, case, p=-1e3), aggregate(reference.min, case), rtol=0.01, atol=0)


@given(case=cases(scales=(1e-3, 1.0, 1e3)), dtype=dtypes, beta=st.floats(-1e4, 1e4), p=st.floats(-1e3, 1e3))
def test_both_families_lie_between_min_and_max(case: Case, dtype: torch.dtype, beta: float, p: float) -> None:
    case = case.to(dtype)
    low, high = aggregate(reference.min, case), aggregate(reference.max, case)
    rounding = 1 + 64 * torch.finfo(dtype).eps
    for out in (aggregate(reference.softmax, case, beta=beta), aggregate(reference.power_mean, case, p=p)):
        assert (out >= low / rounding).all()
        assert (out <= high * rounding).all()


@given(case=cases(), dtype=dtypes)
def test_mean_scaled_by_the_degree_is_sum(case: Case, dtype: torch.dtype) -> None:
    case = case.to(dtype)
    total = aggregate(reference.sum, case)
    assert_close(aggregate(reference.mean, case, y=1.0), total)
    assert_close(aggregate(reference.softmax, case, beta=0.0, y=1.0), total)
    assert_close(aggregate(reference.power_mean, case, p=1.0, y=1.0), total)


@given(case=cases(), y=st.floats(-2, 2))
def test_degree_scaling_is_the_degree_to_the_power_y(case: Case, y: float) -> None:
    degree = case.adjacency.degree(torch.float64)[:, None]
    for function in (reference.softmax, reference.power_mean, reference.max):
        plain = aggregate(function, case)
        assert_close(aggregate(function, case, y=y), torch.where(degree > 0, degree**y * plain, plain))


@given(case=cases(max_channels=4), dtype=dtypes)
def test_one_value_a_channel_is_each_channel_with_its_own_value(case: Case, dtype: torch.dtype) -> None:
    case = case.to(dtype)
    values = torch.tensor([-3.0, 0.5, 2.0, 0.0], dtype=dtype)[: case.channels]
    for function, name in ((reference.softmax, "beta"), (reference.power_mean, "p"), (reference.mean, "y")):
        together = aggregate(function, case, **{name: values})
        for c, value in enumerate(values.tolist()):
            assert_close(together[:, c], aggregate(function, case, **{name: value})[:, c])


# Extremes


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [-1.0, -0.1, -1e-3, -1e-7, 0.0, 1e-7, 1e-3, 0.1, 1.0])
def test_values_and_gradients_are_finite_at_every_extreme(dtype: torch.dtype, value: float) -> None:
    # One vertex hears messages from 1e-7 to 1e3, others only the low or the high end, one a single neighbour.
    x = torch.logspace(-7, 3, 41, dtype=dtype)[:, None].repeat(1, 2).requires_grad_()
    low, high = torch.arange(5), torch.arange(36, 41)
    edge_index = torch.stack(
        [torch.cat([torch.arange(41), low, high, low[:1]]), torch.tensor([0] * 41 + [1] * 5 + [2] * 5 + [3])]
    )
    adjacency = Adjacency.from_edge_index(edge_index, (41, 5))
    families: list[tuple[Aggregate, str, float]] = [(reference.softmax, "beta", 1e4), (reference.power_mean, "p", 1e3)]
    for function, name, largest in families:
        parameter = torch.tensor(value * largest, dtype=dtype, requires_grad=True)
        y = torch.tensor(0.5, dtype=dtype, requires_grad=True)
        out = function(x, adjacency, None, **{name: parameter}, y=y, eps=0.0)
        gradients = torch.autograd.grad(out.sum(), [x, parameter, y])
        assert out.isfinite().all()
        assert all(g.isfinite().all() for g in gradients)


@pytest.mark.parametrize("p", [-1000.0, -30.0, -1.0, -1e-4, 0.0, 1e-4, 1.0, 30.0, 1000.0])
def test_power_mean_in_float32_is_as_exact_as_float32_can_be(p: float) -> None:
    x = torch.logspace(-7, 3, 64, dtype=torch.float64)[:, None]
    adjacency = Adjacency.from_edge_index(torch.stack([torch.arange(64), torch.arange(64) // 8]), (64, 8))
    exact = reference.power_mean(x, adjacency, p=p, eps=0.0)
    # Its condition: the rounding of x, of a logarithm up to 23 and of p times it.
    assert_close(reference.power_mean(x.float(), adjacency, p=p, eps=0.0).double(), exact, rtol=3e-6, atol=0)


# Gradients


@pytest.mark.parametrize("edge", [None, "affine", "table", "dense"])
@pytest.mark.parametrize("name", [n for n in AGGREGATORS if "semi" not in n])
def test_gradients_of_x_and_edge_weights(name: str, edge: str | None) -> None:
    @settings(max_examples=4)
    @given(case=cases(edges=(edge,), max_nodes=5, max_edges=8, max_channels=2))
    def check(case: Case) -> None:
        leaves = case.leaves()

        def function(*_: Tensor) -> Tensor:
            return aggregate(AGGREGATORS[name], leaves)

        assert torch.autograd.gradcheck(function, tuple(leaves.tensors()), eps=1e-7, atol=1e-5, rtol=1e-4)

    check()


@settings(max_examples=12)
@given(
    case=cases(max_nodes=6, max_edges=12, max_channels=3),
    per_channel=st.booleans(),
    value=st.sampled_from([-20.0, -1.0, 0.0, 1e-4, 0.3, 1.0, 5.0, 40.0]),
)
def test_gradients_of_beta_p_and_y(case: Case, per_channel: bool, value: float) -> None:
    parameter = torch.full((case.channels,) if per_channel else (), value, dtype=torch.float64, requires_grad=True)
    y = torch.full_like(parameter, 0.5, requires_grad=True)
    for function, name in ((reference.softmax, "beta"), (reference.power_mean, "p")):
        assert torch.autograd.gradcheck(
            lambda value, y, f=function, n=name: aggregate(f, case, **{n: value}, y=y),
            (parameter, y),
            atol=1e-6,
            rtol=1e-4,
        )


@given(case=cases())
def test_semi_gradient_treats_the_weights_as_constants(case: Case) -> None:
    full, semi = case.leaves(), case.leaves()
    value = aggregate(reference.softmax, full, beta=0.8)
    out = aggregate(reference.softmax, semi, beta=0.8, semi_gradient=True)
    assert_close(out, value)
    out.sum().backward()

    m, target = reference.messages(case.x, case.adjacency, case.edge)
    weight = torch.zeros_like(m)
    for v in range(case.num_targets):
        weight[target == v] = torch.softmax(0.8 * m[target == v], 0)
    by_hand = torch.zeros_like(case.x).index_add(0, case.edge_index[0], weight * (m > 1e-7))
    assert_close(semi.x.grad, by_hand)


@given(case=cases(edges=(None,)))
def test_ties_for_the_maximum_share_its_gradient(case: Case) -> None:
    x = leaf(torch.ones_like(case.x))
    reference.max(x, case.adjacency).sum().backward()
    degree = case.adjacency.degree(torch.float64)
    share = (1 / degree)[case.edge_index[1]]
    expected = torch.zeros(len(x), dtype=torch.float64).index_add(0, case.edge_index[0], share)
    assert_close(x.grad, expected[:, None].expand_as(x))


# Forms of the edge term, and input that is refused


@given(case=cases(edges=("affine", "table")))
def test_a_linear_layer_folds_into_the_edge_term(case: Case) -> None:
    assert case.edge is not None
    weight = torch.linspace(-1, 1, 3 * case.channels, dtype=torch.float64).reshape(3, case.channels)
    bias = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    unfolded = torch.nn.functional.linear(case.edge.materialize(), weight, bias)
    assert_close(case.edge.linear(weight, bias).materialize(), unfolded)


@given(case=cases())
def test_sixteen_bit_input_is_computed_in_float32(case: Case) -> None:
    half = case.to(torch.bfloat16)
    for function in (reference.softmax, reference.power_mean, reference.mean):
        out = aggregate(function, half)
        assert out.dtype == torch.bfloat16
        assert_close(out, aggregate(function, half.to(torch.float32)).bfloat16(), rtol=0.02, atol=0.02)


TWO = Adjacency.from_edge_index(torch.tensor([[0, 1], [1, 0]]), 2)
X = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((torch.ones(2, 3, dtype=torch.int64), TWO), {}, "x: expected a floating-point tensor"),
        ((torch.ones(3), TWO), {}, "x: expected a floating-point tensor"),
        ((torch.ones(5, 3), TWO), {}, "x: expected 2 rows, one per source of the graph, got 5"),
        ((X, TWO, torch.ones(2, 4)), {}, r"edge features: expected a floating-point tensor \[2, 3\]"),
        ((X, TWO, Affine(torch.ones(2, 4), torch.ones(3, 5))), {}, "edge features"),
        ((X, TWO, Table(torch.zeros(2), torch.ones(4, 3))), {}, "edge codes: expected integers"),
        ((X, TWO, "bonds"), {}, "edge: expected a tensor, Affine, Table or Dense, got str"),
        ((X, TWO), {"eps": -1.0}, "eps: expected a finite number >= 0"),
        ((X, TWO), {"beta": float("nan")}, "beta: expected a finite number, got nan"),
        ((X, TWO), {"beta": torch.tensor([1.0, float("inf"), 1.0])}, "beta: expected finite values"),
        ((X, TWO), {"beta": torch.ones(2)}, "beta: expected a number, a scalar tensor or one value for each of the 3"),
        ((X, TWO), {"y": float("inf")}, "y: expected a finite number"),
    ],
)
def test_bad_input_is_named(arguments: tuple[object, ...], options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reference.softmax(*arguments, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("p", [float("nan"), float("inf"), -float("inf")])
def test_power_mean_refuses_a_power_that_is_not_finite(p: float) -> None:
    with pytest.raises(InputError, match="p: expected a finite number"):
        reference.power_mean(X, TWO, p=p)
