"""Every fast aggregation against its definition in ``reference``: values and all gradients.

The tolerance is a statement that holds on every processor. The error, measured against the definition in float64, is at
most twice that of the definition in the same precision, beside two things that are derived: what the rounding of the
input alone can do, for a unit in the last place of a message moves a gradient by as many units as the aggregation's
condition, which grows with |beta| and |p|; and what the order of a sum can do, gamma_n times the sum of the magnitudes,
for the kernel and, in float64, for the definition that stands for the truth.
"""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from deepergcn import ops
from deepergcn.ops import plain, reference
from deepergcn.ops.kernels.cpu.rows import FLUSH
from tests.bounds import gamma
from tests.ops.graphs import Case, cases, leaf

PLAIN = ("sum", "mean", "max", "min")
BETAS = (0.0, 1.0, -3.0, 0.01, 100.0, 1e4, -1e4)
POWERS = (0.0, 1.0, -1.0, 1e-3, 5.0, 1000.0, -1000.0)

case_of_any_width = st.integers(1, 3).flatmap(
    lambda wide: cases(max_channels=(5, 70, 300)[wide - 1], scales=(0.1, 3.0))
)


def gradients(
    function: Callable[..., Tensor], case: Case, name: str | None, value: Tensor | None, weight: Tensor, **options: Any
) -> list[Tensor]:
    """The result and the gradients of x, the edge term and the parameter, for the loss sum(weight * result)."""
    case = case.leaves()
    if isinstance(case.edge, ops.Affine):  # raw features that are learned would make it dense
        case = replace(case, edge=case.edge._replace(features=case.edge.features.detach()))
    named = {} if name is None or value is None else {name: leaf(value)}
    out = function(case.x, case.adjacency, case.edge, **named, **options)
    (out * weight.to(out.dtype)).sum().backward()
    # without an edge some of them take part in nothing
    grads = [torch.zeros_like(t) if t.grad is None else t.grad for t in (*case.tensors(), *named.values())]
    return [out.detach(), *grads]


def assert_as_exact(
    module: ModuleType, function: str, case: Case, name: str | None = None, value: float = 0.0, **options: Any
) -> None:
    """``module.function`` has at most twice the error of the definition, in float32 and in float64."""
    single = case.to(torch.float32)
    exact = single.to(torch.float64)
    generator = torch.Generator().manual_seed(case.num_targets)
    weight = torch.randn(case.num_targets, case.channels, generator=generator, dtype=torch.float64)
    parameter = None if name is None else torch.full((case.channels,), value, dtype=torch.float64)
    definition, fast = getattr(reference, function), getattr(module, function)
    truth = gradients(definition, exact, name, parameter, weight, **options)
    scale = gradients(definition, exact, name, parameter, weight.abs(), **options)
    if name == "beta":  # a variance, computed from squares
        scale[-1] = (weight.abs() * truth[0].square()).sum(dim=0) + scale[-1]
    if name == "p" and value:  # the definition divides a difference of means by p
        scale[-1] = scale[-1] + 16 * (weight.abs() * truth[0]).sum(dim=0) / abs(value)
    largest = float(exact.x.abs().max()) + 10
    condition = 4 * (1 + abs(value) * (largest if name == "beta" else 1))
    if name == "p" and isinstance(case.edge, ops.Affine) and case.edge_index.shape[1]:
        # W f + b is added up in another order, and dm = out w / m magnifies that by 1 / m
        condition *= largest / float(reference.messages(exact.x, exact.adjacency, exact.edge, **options)[0].amin())
    terms = max(case.edge_index.shape[1], case.num_targets)
    for dtype in (torch.float32, torch.float64):
        serial = _longest_sum(case) if dtype == torch.float32 else terms
        rounded = None if parameter is None else parameter.to(dtype)
        ours = gradients(fast, exact.to(dtype), name, rounded, weight, **options)
        theirs = truth
        if dtype == torch.float32:
            theirs = gradients(definition, single, name, rounded, weight, **options)
        for got, plainly, expected, size in zip(ours, theirs, truth, scale, strict=True):
            assert got.dtype == dtype
            assert got.isfinite().all()
            error, allowed = (float((t - expected).abs().amax()) if t.numel() else 0.0 for t in (got, plainly))
            magnitude = float(size.abs().amax()) if size.numel() else 0.0
            units = (
                torch.finfo(dtype).eps * condition + gamma(serial, dtype) + gamma(terms, torch.float64)
            ) * magnitude
            assert error <= 2 * allowed + units + 1e-30, (function, dtype, name, value, error, allowed, units)


def _longest_sum(case: Case) -> int:
    """The terms that a kernel adds up in float32 before it goes on in float64, or that one row of a table gets."""
    ends = [case.edge_index[0], case.edge_index[1]]
    if isinstance(case.edge, ops.Table):
        ends.append(case.edge.codes)
    return max(FLUSH, *(int(end.bincount().max()) if end.numel() else 0 for end in ends))


@pytest.mark.parametrize("function", PLAIN)
@given(case=case_of_any_width)
@settings(max_examples=25, deadline=None)
def test_plain_aggregations(function: str, case: Case) -> None:
    assert_as_exact(ops, function, case)


@given(case=case_of_any_width, beta=st.sampled_from(BETAS))
@settings(max_examples=80, deadline=None)
def test_softmax(case: Case, beta: float) -> None:
    assert_as_exact(ops, "softmax", case, "beta", beta)


@given(case=case_of_any_width, beta=st.sampled_from(BETAS))
@settings(max_examples=25, deadline=None)
def test_semi_gradient(case: Case, beta: float) -> None:
    options = {"beta": beta, "semi_gradient": True}
    assert_as_exact(ops, "softmax", case, None, abs(beta), **options)


@pytest.mark.parametrize("kind", [None, "dense", "affine"])
def test_the_semi_gradient_leads_to_no_beta(kind: str | None) -> None:
    x, edge_index = torch.rand(4, 8), torch.tensor([[0, 1, 2, 3], [0, 0, 0, 1]])
    terms: dict[str, ops.EdgeTerm] = {
        "dense": ops.Dense(torch.rand(4, 8)),
        "affine": ops.Affine(torch.rand(4, 2), torch.rand(8, 2)),
    }
    x.requires_grad_()
    beta = torch.tensor(0.5, requires_grad=True)
    adjacency = ops.Adjacency.from_edge_index(edge_index, 4)
    out = ops.softmax(x, adjacency, terms.get(kind or ""), beta=beta, semi_gradient=True)
    out.sum().backward()
    assert beta.grad is None


@given(case=case_of_any_width, p=st.sampled_from(POWERS))
@settings(max_examples=80, deadline=None)
def test_power_mean(case: Case, p: float) -> None:
    assert_as_exact(ops, "power_mean", case, "p", p, eps=1e-3)


@given(case=cases(edges=(None,), scales=(0.1, 3.0)), p=st.sampled_from((0.5, -0.7, 1.0, 2.0)))
@settings(max_examples=60, deadline=None)
def test_power_mean_node_by_node(case: Case, p: float) -> None:
    assert_as_exact(ops, "power_mean", case, "p", p, eps=1e-7)


@pytest.mark.parametrize(
    ("p", "with_edges", "on_nodes"), [(1.0, False, True), (-2.0, False, True), (1.0, True, False), (0.4, False, False)]
)
def test_power_mean_takes_the_node_path_where_it_is_safe(p: float, with_edges: bool, on_nodes: bool) -> None:
    case = wide_case(8, 3000, kind="table" if with_edges else None)
    assert _took_node_path(case, p) == on_nodes


def test_a_spread_that_is_too_large_goes_edge_by_edge() -> None:
    case = wide_case(8, 3000)
    assert _took_node_path(case, 2.0)
    assert not _took_node_path(replace(case, x=case.x * 1e6), 2.0)  # from 1e-7 to 1e6: exp(2 ln(1e-13)) = exp(-60)


def _took_node_path(case: Case, p: float) -> bool:
    adjacency = case.adjacency
    graph = [adjacency.rowptr, adjacency.source, adjacency.edge, adjacency.rowptr_t, adjacency.target, adjacency.edge_t]
    edge = list(case.edge) if isinstance(case.edge, ops.Table) else []
    *_, shift = torch.ops.deepergcn.power_mean(case.x, torch.full((case.channels,), p), graph, edge, 1e-7, 1)
    return bool(shift.isfinite().all())


@pytest.mark.parametrize("eps", [None, 1e-7])
@given(case=cases(scales=(1.0,)))
@settings(max_examples=15, deadline=None)
def test_messages_as_they_are_and_degree_scaling(eps: float | None, case: Case) -> None:
    assert_as_exact(ops, "softmax", case, "y", 0.7, eps=eps)


@pytest.mark.parametrize("function", ["sum", "mean"])
@given(case=cases(edges=(None,)))
@settings(max_examples=15, deadline=None)
def test_plain_pytorch_sums(function: str, case: Case) -> None:
    assert_as_exact(plain, function, case)


@given(case=cases(scales=(0.1, 3.0)), beta=st.sampled_from(BETAS))
@settings(max_examples=30, deadline=None)
def test_plain_pytorch_softmax(case: Case, beta: float) -> None:
    assert_as_exact(plain, "softmax", case, "beta", beta)


def wide_case(channels: int, edges: int, nodes: int = 900, kind: str | None = None, hub: int = 10) -> Case:
    """A graph with a hub of every tenth edge, large enough for many chunks."""
    generator = torch.Generator().manual_seed(channels + edges)
    edge_index = torch.randint(nodes, (2, edges), generator=generator)
    edge_index[1, ::hub] = 3
    x = torch.randn(nodes, channels, generator=generator)
    edge: ops.EdgeTerm | None = None
    if kind in ("affine", "few features"):  # of which up to 8 have kernels of their own, from 16 channels on
        count = 11 if kind == "affine" else 6
        features = torch.rand(edges, count, generator=generator)
        edge = ops.Affine(features, torch.randn(channels, count, generator=generator), None)
    elif kind == "table":
        edge = ops.Table(
            torch.randint(60, (edges,), generator=generator), torch.randn(60, channels, generator=generator)
        )
    return Case(x, edge_index, nodes, edge)


@pytest.mark.parametrize("features", range(17))
def test_affine_edge_terms_of_any_number_of_features(features: int) -> None:
    case = wide_case(9, 60, nodes=12)
    generator = torch.Generator().manual_seed(features)
    weight = torch.randn(9, features, generator=generator)
    edge = ops.Affine(torch.rand(60, features, generator=generator), weight, torch.randn(9, generator=generator))
    for function in ("sum", "max"):
        assert_as_exact(ops, function, replace(case, edge=edge))


def test_more_channels_than_a_kernel_takes_at_once() -> None:
    assert_as_exact(ops, "softmax", wide_case(1100, 60, nodes=20, kind="table"), "beta", 1.0)


def test_learned_raw_edge_features_get_a_gradient() -> None:
    case = wide_case(4, 50, nodes=10, kind="affine").to(torch.float64)
    assert isinstance(case.edge, ops.Affine)
    features = leaf(case.edge.features)
    both = []
    for module in (ops, reference):
        out = module.softmax(case.x, case.adjacency, case.edge._replace(features=features))
        both.append(torch.autograd.grad(out.square().sum(), features)[0])
    torch.testing.assert_close(both[0], both[1])


@pytest.mark.parametrize(("function", "name"), [("softmax", "beta"), ("power_mean", "p"), ("mean", "y")])
def test_bfloat16_is_summed_in_float32(function: str, name: str) -> None:
    case = wide_case(32, 4000, nodes=50, kind="table").to(torch.bfloat16)
    parameter = torch.tensor(0.5)
    ours = getattr(ops, function)(case.x, case.adjacency, case.edge, **{name: parameter})
    wide = case.to(torch.float32)
    exact = getattr(reference, function)(wide.x, wide.adjacency, wide.edge, **{name: parameter})
    assert ours.dtype == torch.bfloat16
    torch.testing.assert_close(ours.float(), exact, rtol=2**-8, atol=1e-6)


@pytest.mark.parametrize("channels", [8, 16])
def test_indices_beyond_32_bits(channels: int) -> None:
    case = wide_case(channels, 200, nodes=30, kind="affine")
    narrow = case.adjacency
    wide = ops.Adjacency(
        narrow.num_sources,
        narrow.num_targets,
        narrow.rowptr.long(),
        narrow.source.long(),
        narrow.edge.long(),
        narrow.rowptr_t.long(),
        narrow.target.long(),
        narrow.edge_t.long(),
    )
    both = []
    for adjacency in (narrow, wide):
        x = leaf(case.x)
        out = ops.softmax(x, adjacency, case.edge)
        both += [out.detach(), torch.autograd.grad(out.sum(), x)[0]]
    assert torch.equal(both[0], both[2])
    assert torch.equal(both[1], both[3])


@pytest.mark.parametrize("function", ["sum", "max", "softmax", "power_mean"])
def test_nan_is_not_hidden(function: str) -> None:
    case = wide_case(8, 200, nodes=30)
    poisoned = case.x.clone()
    poisoned[int(case.edge_index[0, 0]), 2] = torch.nan
    out = getattr(ops, function)(poisoned, case.adjacency)
    assert out[int(case.edge_index[1, 0]), 2].isnan()
    assert not out[:, 3].isnan().any()


@pytest.mark.parametrize("function", ["sum", "mean", "max", "min", "softmax", "power_mean"])
@pytest.mark.parametrize("edges", [0, 1])
def test_graphs_of_next_to_nothing(function: str, edges: int) -> None:
    for nodes in range(edges, 3):
        adjacency = ops.Adjacency.from_edge_index(torch.zeros(2, edges, dtype=torch.int64), nodes)
        x = torch.rand(nodes, 3, requires_grad=True)
        out = getattr(ops, function)(x, adjacency)
        expected = torch.zeros(nodes, 3)
        expected[:edges] = x.detach()[:edges]
        torch.testing.assert_close(out, expected)
        assert torch.autograd.grad(out.sum(), x)[0].shape == x.shape


@pytest.mark.parametrize("function", [*PLAIN, "softmax", "power_mean"])
@pytest.mark.parametrize("size", [(0, 0), (3, 0), (0, 2)])
def test_no_sources_or_no_targets_at_all(size: tuple[int, int], function: str) -> None:
    none = torch.zeros(2, 0, dtype=torch.int64)
    adjacency = ops.Adjacency.from_edge_index(none, size)
    for channels in (3, 17, 32):
        x, table = torch.rand(size[0], channels, requires_grad=True), torch.rand(2, channels, requires_grad=True)
        weight = torch.rand(channels, 2, requires_grad=True)
        for edge in (
            None,
            ops.Dense(x.new_zeros(0, channels)),
            ops.Table(none[0], table),
            ops.Affine(none.T * 1.0, weight),
        ):
            out = getattr(ops, function)(x, adjacency, edge)
            torch.testing.assert_close(out, torch.zeros(size[1], channels))
            leaves = [t for t in (x, *(edge or ())) if t is not None and t.requires_grad]
            found = torch.autograd.grad(out.sum(), leaves)
            torch.testing.assert_close(found, tuple(map(torch.zeros_like, leaves)))
