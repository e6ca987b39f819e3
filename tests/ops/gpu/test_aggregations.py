"""Every aggregation by the GPU's kernels against its definition: values and all gradients, by the bounds of the CPU's.

``make test`` takes a few cases; ``make test-gpu`` all of them.
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from deepergcn import ops
from deepergcn.ops import reference
from deepergcn.ops.operators import device
from tests.ops import test_extremes as extremes
from tests.ops import test_fast as fast
from tests.ops.gpu.conftest import ALL
from tests.ops.gpu.graphs import EDGES, edge_tensors, hub_graph
from tests.ops.graphs import Case, leaf
from tests.ops.test_fast import BETAS, PLAIN, POWERS, assert_as_exact

pytestmark = pytest.mark.usefixtures("interpreted")


def small_case(kind: str, channels: int, edges: int = 22, nodes: int = 5) -> Case:
    """A hub of three parts each way, a node without edges, and an edge term of a kind."""
    rowptr, source, place, rowptr_t, target, place_t = hub_graph(nodes, edges, seed=1)
    edge_index = ops.Adjacency(nodes, nodes, rowptr, source, place, rowptr_t, target, place_t).edge_index()
    x = torch.randn(nodes, channels, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    tensors = edge_tensors(kind, edges, channels, torch.float64)
    term: Any = {"none": lambda: None, "dense": ops.Dense, "table": ops.Table, "affine": ops.Affine}[kind]
    return Case(x, edge_index, nodes, term(*tensors))


def cases(quick: list[Any], everything: list[Any]) -> list[Any]:
    return everything if ALL else quick


@pytest.mark.parametrize(
    ("function", "kind", "channels"),
    cases(
        [("sum", "none", 3), ("mean", "table", 3), ("max", "affine", 3), ("min", "dense", 3)],
        [(function, kind, channels) for function in PLAIN for kind in EDGES for channels in (1, 17, 130)],
    ),
)
def test_plain_aggregations(function: str, kind: str, channels: int) -> None:
    assert_as_exact(ops, function, small_case(kind, channels))


@pytest.mark.parametrize(
    ("beta", "kind", "channels"),
    cases(
        [(1.0, "affine", 3), (-1e4, "none", 3), (0.0, "table", 3)],
        [(beta, kind, channels) for beta in BETAS for kind in EDGES for channels in (1, 17)] + [(2.0, "affine", 130)],
    ),
)
def test_softmax(beta: float, kind: str, channels: int) -> None:
    assert_as_exact(ops, "softmax", small_case(kind, channels), "beta", beta)


@pytest.mark.parametrize("kind", cases(["dense"], list(EDGES)))
def test_semi_gradient(kind: str) -> None:
    assert_as_exact(ops, "softmax", small_case(kind, 3), None, 3.0, beta=-3.0, semi_gradient=True)


@pytest.mark.parametrize(
    ("p", "kind", "channels"),
    cases(
        [(1e-3, "affine", 3), (-1000.0, "none", 3), (0.0, "table", 3)],
        [(p, kind, channels) for p in POWERS for kind in EDGES for channels in (1, 17)] + [(2.0, "affine", 130)],
    ),
)
def test_power_mean(p: float, kind: str, channels: int) -> None:
    assert_as_exact(ops, "power_mean", small_case(kind, channels), "p", p, eps=1e-3)


@pytest.mark.parametrize(
    ("function", "name", "value", "kind"),
    cases(
        [("softmax", "beta", 1e4, "near 1e3")],
        [("softmax", "beta", v, kind) for v in (1e4, -0.5, 0.0) for kind in extremes.KINDS]
        + [("power_mean", "p", v, kind) for v in (1000.0, -1.0, 0.25, 2.0**-70) for kind in extremes.KINDS],
    ),
)
def test_against_sixty_digits(
    function: str, name: str, value: float, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extremes, "PATHS", [(ops, "none"), (ops, "affine")])
    extremes.test_against_sixty_digits(function, name, value, kind)


@pytest.mark.parametrize("function", cases(["softmax"], ["sum", "mean", "max", "min", "softmax", "power_mean"]))
@pytest.mark.parametrize("edges", [0, 1])
def test_graphs_of_next_to_nothing(function: str, edges: int) -> None:
    fast.test_graphs_of_next_to_nothing(function, edges)


def run(case: Case, function: str, **options: Any) -> list[Tensor]:
    """The result and the gradients of everything that is learnable."""
    case = case.leaves()
    edge = case.edge._replace(features=case.edge.features.detach()) if isinstance(case.edge, ops.Affine) else case.edge
    out = getattr(ops, function)(case.x, case.adjacency, edge, **options)
    learned = [t for t in (case.x, *(edge or ()), *options.values()) if isinstance(t, Tensor) and t.requires_grad]
    return [out.detach(), *torch.autograd.grad(out.float().square().sum(), learned)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("function", "name", "kind"),
    cases(
        [("max", None, "affine"), ("softmax", "beta", "none")],
        [
            (function, name, kind)
            for function, name in (("mean", None), ("max", None), ("softmax", "beta"), ("power_mean", "p"))
            for kind in EDGES
        ],
    ),
)
def test_16_bits_are_stored_and_32_summed(function: str, name: str | None, kind: str, dtype: torch.dtype) -> None:
    case = small_case(kind, 3).to(dtype)
    parameter = {} if name is None else {name: torch.tensor(0.5, requires_grad=True)}
    ours = run(case, function, **parameter)
    exact = case.to(torch.float32).leaves()
    edge = (
        exact.edge._replace(features=exact.edge.features.detach()) if isinstance(exact.edge, ops.Affine) else exact.edge
    )
    out = getattr(reference, function)(exact.x, exact.adjacency, edge, **parameter)
    learned = [t for t in (exact.x, *(edge or ()), *parameter.values()) if isinstance(t, Tensor) and t.requires_grad]
    theirs = [out.detach(), *torch.autograd.grad(out.to(dtype).float().square().sum(), learned)]
    for got, expected in zip(ours, theirs, strict=True):
        assert got.dtype == (torch.float32 if got.shape == () else dtype)
        # the gradient 2 out is rounded to 16 bits as well; at most 22 terms are added
        bound = 2 * torch.finfo(dtype).eps * float(expected.abs().max())
        torch.testing.assert_close(got.float(), expected, rtol=torch.finfo(dtype).eps, atol=bound)


@pytest.mark.parametrize("kind", cases(["affine"], list(EDGES)))
def test_two_runs_give_the_same_bits(kind: str) -> None:
    first, second = (
        run(small_case(kind, 3).to(torch.float32), "softmax", beta=torch.ones(3, requires_grad=True)) for _ in range(2)
    )
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("function", cases(["power_mean"], [*PLAIN, "softmax", "power_mean"]))
def test_a_hub_in_parts_equals_a_hub_at_once(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = small_case("table", 3)
    in_parts = run(case, function)
    monkeypatch.setattr(device.gpu_kernels("launch"), "_SHORTEST_HUB", 64)
    for part, whole in zip(in_parts, run(case, function), strict=True):
        torch.testing.assert_close(part, whole, rtol=1e-13, atol=1e-13)


def test_indices_of_64_bits_give_the_same_bits() -> None:
    case = small_case("affine", 3).to(torch.float32)
    narrow = case.adjacency
    names = ("rowptr", "source", "edge", "rowptr_t", "target", "edge_t")
    wide = ops.Adjacency(5, 5, *(getattr(narrow, name).long() for name in names))
    results = []
    for adjacency in (narrow, wide):
        x = leaf(case.x)
        out = ops.softmax(x, adjacency, case.edge)
        results.append((out.detach(), torch.autograd.grad(out.sum(), x)[0]))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])


@pytest.mark.parametrize("function", cases(["max"], ["sum", "max", "min", "softmax", "power_mean"]))
def test_nan_is_not_hidden(function: str) -> None:
    case = small_case("none", 4).to(torch.float32)
    case.x[1, 2] = torch.nan
    out = getattr(ops, function)(case.x, case.adjacency)
    heard = case.edge_index[1][case.edge_index[0] == 1].unique()
    assert out[heard, 2].isnan().all()
    assert not out[:, 3].isnan().any()


def test_a_code_beyond_the_table_gives_nan() -> None:
    case = small_case("table", 3).to(torch.float32)
    assert isinstance(case.edge, ops.Table)
    codes = case.edge.codes.clone()
    codes[4] = 3
    out = ops.softmax(case.x, case.adjacency, case.edge._replace(codes=codes))
    wrong = torch.zeros(5, dtype=torch.bool)
    wrong[case.edge_index[1, 4]] = True
    assert out[wrong].isnan().all()
    assert out[~wrong].isfinite().all()
