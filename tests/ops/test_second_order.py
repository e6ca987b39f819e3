"""Derivatives of derivatives, and the transforms of ``torch.func``: as right as the definitions'."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from deepergcn import ops
from deepergcn.ops import Adjacency, plain, reference
from deepergcn.ops.norm_relu_dropout import norm_relu_dropout

KINDS = ("none", "dense", "table", "affine")
AGGREGATIONS: list[tuple[str, dict[str, Any], str | None]] = [
    ("softmax", {"beta": 0.7}, None),
    ("softmax", {}, "beta"),
    ("softmax", {"y": 0.5}, "beta"),
    ("power_mean", {"p": -1.5}, None),
    ("power_mean", {}, "p"),
    ("sum", {}, None),
    ("mean", {}, "y"),
    ("max", {}, None),
    ("min", {}, None),
]
EDGE_INDEX = torch.tensor([[0, 1, 2, 3, 3, 0, 1, 2], [1, 1, 1, 1, 0, 0, 2, 2]])
ADJACENCY = Adjacency.from_edge_index(EDGE_INDEX, (4, 4))  # the last vertex has no in-neighbours


def numbers(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


FEATURES, CODES = numbers(8, 3, seed=5).abs(), torch.arange(8) % 3


def learned(tensor: Tensor) -> Tensor:
    return tensor.requires_grad_()


def edge_inputs(kind: str) -> tuple[Tensor, ...]:
    """What is learned in an edge term of this kind."""
    edges = EDGE_INDEX.shape[1]
    match kind:
        case "dense":
            return (learned(numbers(edges, 2, seed=1)),)
        case "table":
            return (learned(numbers(3, 2, seed=2)),)
        case "affine":
            return learned(numbers(2, 3, seed=3)), learned(numbers(2, seed=4))
    return ()


def edge_term(kind: str, inputs: tuple[Tensor, ...]) -> ops.EdgeTerm | None:
    match kind:
        case "dense":
            return ops.Dense(*inputs)
        case "table":
            return ops.Table(CODES, *inputs)
        case "affine":
            return ops.Affine(FEATURES, *inputs)
    return None


def as_function(module: Any, name: str, options: dict[str, Any], learn: str | None, kind: str) -> Callable[..., Tensor]:
    def function(x: Tensor, parameter: Tensor, *edge: Tensor) -> Tensor:
        named = {} if learn is None else {learn: parameter}
        out: Tensor = getattr(module, name)(x, ADJACENCY, edge_term(kind, edge), **named, **options)
        return out

    return function


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "options", "learn"), AGGREGATIONS)
def test_second_derivatives(name: str, options: dict[str, Any], learn: str | None, kind: str) -> None:
    inputs = (learned(numbers(4, 2, seed=0)), learned(torch.tensor([0.9], dtype=torch.float64)), *edge_inputs(kind))
    function = as_function(ops, name, options, learn, kind)
    if learn is None:
        inputs = (inputs[0], inputs[1].detach(), *inputs[2:])
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("name", ["sum", "mean", "softmax"])
def test_second_derivatives_of_sparse_products(name: str) -> None:
    function = as_function(plain, name, {}, None, "none")
    assert torch.autograd.gradgradcheck(function, (learned(numbers(4, 2, seed=0)), torch.ones(1)))


def test_the_semi_gradient_is_constant_in_the_weights_of_its_own_derivative() -> None:
    second = []
    for module in (ops, reference):
        x = learned(numbers(4, 2, seed=0))
        out = module.softmax(x, ADJACENCY, beta=2.0, semi_gradient=True)
        (first,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        second.append(torch.autograd.grad(first.square().sum(), x)[0])
    torch.testing.assert_close(*second)


def test_inputs_that_depend_on_each_other_are_not_counted_twice() -> None:
    second = []
    for module in (ops, reference):
        x = learned(numbers(4, 2, seed=0))
        out = module.softmax(x.sin(), ADJACENCY, x[EDGE_INDEX[0]].cos(), beta=x.mean())
        (first,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        second += [first, torch.autograd.grad(first.square().sum(), x)[0]]
    torch.testing.assert_close(second[0], second[2])
    torch.testing.assert_close(second[1], second[3])


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("statistics", ["none", "row", "batch", "given"])
def test_second_derivatives_through_the_same_mask(statistics: Any, dropout: float) -> None:
    inputs = (learned(numbers(5, 3, seed=0)), learned(numbers(3, seed=1)), learned(numbers(3, seed=2)))
    moments: dict[str, Any] = (
        {"mean": numbers(3, seed=3), "variance": numbers(3, seed=4).square()} if statistics == "given" else {}
    )

    def function(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        torch.manual_seed(1)
        return norm_relu_dropout(x, statistics, weight, bias, dropout=dropout, **moments)[0]

    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize(("name", "options", "learn"), AGGREGATIONS)
def test_a_gradient_penalty_through_a_compiled_function(name: str, options: dict[str, Any], learn: str | None) -> None:
    torch._dynamo.reset()
    eager = as_function(ops, name, options, learn, "affine")
    results = []
    for function in (eager, torch.compile(eager, backend="eager", fullgraph=True)):
        inputs = (learned(numbers(4, 2, seed=0)), learned(torch.tensor([0.9], dtype=torch.float64)))
        (first,) = torch.autograd.grad(
            function(*inputs, *edge_inputs("affine")).square().sum(), inputs[0], create_graph=True
        )
        results.append(torch.autograd.grad(first.square().sum(), inputs, allow_unused=True, materialize_grads=True))
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected)


def test_where_torch_cannot_differentiate_twice_it_says_so() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: ops.softmax(x, ADJACENCY).square().sum(), backend="aot_eager", fullgraph=True)
    x = learned(numbers(4, 2, seed=0))
    (first,) = torch.autograd.grad(compiled(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        first.square().sum().backward()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "options", "learn"), AGGREGATIONS)
def test_transforms(name: str, options: dict[str, Any], learn: str | None, kind: str) -> None:
    function = as_function(ops, name, options, learn, kind)
    parameter, edge = torch.tensor([0.9], dtype=torch.float64), [t.detach() for t in edge_inputs(kind)]

    def loss(x: Tensor, parameter: Tensor) -> Tensor:
        return function(x, parameter, *edge).square().sum()

    x = numbers(4, 2, seed=0)
    expected = torch.autograd.functional.hessian(lambda x: loss(x, parameter), x)
    torch.testing.assert_close(torch.func.hessian(loss)(x, parameter), expected)
    torch.testing.assert_close(torch.func.jacrev(torch.func.grad(loss))(x, parameter), expected)
    vectorized = torch.autograd.functional.hessian(lambda x: loss(x, parameter), x, vectorize=True)
    torch.testing.assert_close(vectorized, expected)
    several = torch.stack([x, -x, 2 * x])
    alone = torch.stack([torch.autograd.functional.jacobian(lambda x: loss(x, parameter), each) for each in several])
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(loss), (0, None))(several, parameter), alone)
    direction = numbers(4, 2, seed=9)
    along = torch.func.jvp(lambda x: loss(x, parameter), (x,), (direction,))[1]
    torch.testing.assert_close(along, (alone[0] * direction).sum())


def test_transforms_of_the_norm() -> None:
    def loss(x: Tensor) -> Tensor:
        return norm_relu_dropout(x, "row", eps=1e-3)[0].square().sum()

    x = numbers(5, 3, seed=0)
    expected = torch.autograd.functional.hessian(loss, x)
    torch.testing.assert_close(torch.func.hessian(loss)(x), expected)
