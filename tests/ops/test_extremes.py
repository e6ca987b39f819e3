"""Every path at the ends of its range, against 60 digits: large beta and p, messages to 1e30, denormals, near ties.

The error of a path is at most twice that of the definition in the same precision, beside a bound derived for it: u is
the unit roundoff, n the number of messages, and the exponents t = beta (m - m*) or p ln(m / m*) carry an absolute error
of a few u |t|, which their exponentials turn into a relative one. Weights below exp(-70) may be 0 in float32.
"""

import math
from itertools import product
from types import ModuleType
from typing import Any

import pytest
import torch
from mpmath import mp, mpf
from torch import Tensor

from deepergcn import ops
from deepergcn.ops import plain, reference
from deepergcn.ops.kernels.cpu.machine.lanes import LANES
from deepergcn.ops.norm_relu_dropout import norm_relu_dropout
from tests.bounds import gamma, unit
from tests.ops import exact
from tests.ops.exact import Exact

SIZES = (1, 2, 3, 3, 6, 12)  # in-edges of each vertex; up to three go their own way
TARGETS = torch.repeat_interleave(torch.arange(len(SIZES) + 1), torch.tensor([*SIZES, 0]))  # the last has none
COUNT = len(TARGETS)
ADJACENCY = ops.Adjacency.from_edge_index(torch.stack([torch.arange(COUNT), TARGETS]), (COUNT, len(SIZES) + 1))
NO_TERM: dict[str, tuple[Tensor, ...]] = {  # edge terms of zeros: the same messages on every path
    "none": (),
    "dense": (torch.zeros(COUNT, 1),),
    "table": (torch.zeros(1, 1),),
    "affine": (torch.zeros(COUNT, 2), torch.zeros(1, 2)),
    "affine, wide": (torch.zeros(COUNT, 2), torch.zeros(LANES, 2)),
}
PATHS = [(ops, "none"), (ops, "dense"), (ops, "table"), (ops, "affine"), (ops, "affine, wide"), (plain, "none")]
FLUSHED = 1e-28  # beyond exp(-70) times its exponent


def messages(kind: str) -> Tensor:
    """[COUNT], positive float32 numbers."""
    uniform = torch.rand(COUNT, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    match kind:
        case "to 1":
            x = uniform
        case "to 1e3":
            x = uniform * 1e3
        case "near 1e3":
            x = 1e3 * (1 + 1e-5 * uniform)
        case "1e-7 to 1e30":
            x = 10 ** (37 * uniform - 7)
        case "near 1e30":
            x = 1e30 * (1 + 1e-5 * uniform)
        case "denormal":
            x = (1000 * uniform + 1).floor() * 2.0**-149
        case _:
            x = torch.full((COUNT,), 0.7, dtype=torch.float64)
    return x.float()


KINDS = ("to 1", "to 1e3", "near 1e3", "1e-7 to 1e30", "near 1e30", "denormal", "ties")


def width(term: str) -> int:
    """Channels, all of them the same: some kernels take a block of them at once."""
    return LANES if "wide" in term else 1


def run(
    module: ModuleType, function: str, name: str, x: Tensor, value: float, term: str, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, and the gradients of its sum in x and in the parameter, as float64, of the last channel."""
    leaf = x.to(dtype)[:, None].repeat(1, width(term)).requires_grad_()
    parameter = torch.full((width(term),), value, dtype=dtype, requires_grad=True)
    tensors = [t.to(dtype) for t in NO_TERM[term]]
    edge: Any = None
    if term == "table":
        edge = ops.Table(torch.zeros(COUNT, dtype=torch.int64), tensors[0])
    elif tensors:
        edge = ops.Dense(tensors[0]) if term == "dense" else ops.Affine(tensors[0], tensors[1])
    out = getattr(module, function)(leaf, ADJACENCY, edge, **{name: parameter}, eps=None)
    out.sum().backward()
    assert leaf.grad is not None
    assert parameter.grad is not None
    assert not out.detach()[-1].any()  # no in-neighbours
    return out.detach()[:-1, -1].double(), leaf.grad[:, -1].double(), parameter.grad[-1:].double()


def softmax_bounds(m: list[float], beta: float, truth: Exact, u: float) -> tuple[float, list[float], float]:
    """What the result, its derivatives in the messages and its derivative in beta may be off by."""
    n, w = len(m), [float(weight) for weight in truth.weights]
    top = max(m) if beta >= 0 else min(m)
    t = [abs(beta * (value - top)) for value in m]
    size = math.fsum(weight * (1 + each) for weight, each in zip(w, t, strict=True))  # 1 + E|t| <= 2 + ln n
    out = u * (2 * n + 12) * math.fsum(weight * abs(v) * (1 + each) for weight, v, each in zip(w, m, t, strict=True))
    # the node path measures messages from one origin for all: |beta (m - r)| <= 40
    dm = [
        u * weight * ((2 * n + 16) * (size + each) ** 2 + 8 * plain.SPREAD) + FLUSHED
        for weight, each in zip(w, t, strict=True)
    ]
    away = [float(mpf(v) - truth.out) for v in m]
    spread = math.fsum(weight * d * d * (size + each) ** 2 for weight, d, each in zip(w, away, t, strict=True))
    dbeta = u * (4 * n + 32) * spread + (4 * u * abs(float(truth.out))) ** 2
    return out + FLUSHED * max(m), dm, dbeta + (FLUSHED / beta**2 if beta else 0.0)


def power_mean_bounds(m: list[float], p: float, truth: Exact, u: float) -> tuple[float, list[float], float]:
    n, out, w = len(m), float(truth.out), [float(weight) for weight in truth.weights]
    logs = [float(mp.log(mpf(v) / truth.out)) for v in m]
    top = max(logs) if p >= 0 else min(logs)
    extent = max(abs(each - top) for each in logs)
    # of ln(m / m*) and of ln(S / n) / p, which the node path takes from a sum of powers
    away = u * (n + 8) * (1 + extent) + (u * (n + 8) / abs(p) if abs(p) >= 0.5 else 0.0)
    relative = 2 * away + u * (
        16 + 4 * abs(p) * (1 + math.fsum(v * abs(d - top) for v, d in zip(w, logs, strict=True)))
    )
    dm = [
        float(abs(each)) * (relative + 4 * u * abs(p - 1) * (1 + abs(d - top))) + FLUSHED * out / math.exp(top)
        for each, d in zip(truth.dm, logs, strict=True)
    ]
    slopes = math.fsum((math.exp(p * d) + 1) * (abs(d) * away + (1 + abs(p * d)) * away**2) for d in logs) / n
    return out * 2 * away, dm, u * (2 * n + 32) * float(truth.dparameter) + out * slopes


def off(got: Tensor, expected: Tensor) -> Tensor:
    """The errors; infinite where something is not finite."""
    return (got - expected).abs().nan_to_num(torch.inf, torch.inf)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("function", "name", "value"),
    [("softmax", "beta", v) for v in (1e4, -1e4, 50.0, 1.0, -0.5, 1e-3, 0.0)]
    + [("power_mean", "p", v) for v in (1000.0, -1000.0, 3.0, 1.0, -1.0, 0.25, 2.0**-10, 2.0**-70, 0.0)],
)
def test_against_sixty_digits(function: str, name: str, value: float, kind: str) -> None:
    x, value = messages(kind), float(torch.tensor(value))
    groups = [part.tolist() for part in x.split(SIZES)]
    truth = [getattr(exact, function)(group, value) for group in groups]
    outs = torch.tensor([float(each.out) for each in truth], dtype=torch.float64)
    dms = torch.tensor([float(d) for each in truth for d in each.dm], dtype=torch.float64)
    dvalue = torch.tensor([float(mp.fsum(each.dparameter for each in truth))], dtype=torch.float64)
    derive = softmax_bounds if name == "beta" else power_mean_bounds
    for dtype in (torch.float32, torch.float64):
        limits = torch.finfo(dtype)
        bounds = [derive(group, value, each, unit(dtype)) for group, each in zip(groups, truth, strict=True)]
        for_out = torch.tensor([b[0] for b in bounds], dtype=torch.float64)
        for_dm = torch.tensor([d for b in bounds for d in b[1]], dtype=torch.float64)
        for_value = math.fsum(b[2] for b in bounds) + gamma(len(SIZES), dtype) * float(dvalue)
        theirs = run(reference, function, name, x, value, "none", dtype)
        for module, term in PATHS:
            ours = run(module, function, name, x, value, term, dtype)
            parts = zip(
                ("out", "dx", name),
                ours,
                theirs,
                (outs, dms, dvalue),
                (for_out, for_dm, torch.tensor(for_value, dtype=torch.float64)),
                strict=True,
            )
            for what, got, plainly, expected, bound in parts:
                fits = expected.abs() < limits.max / 16
                allowed = 2 * off(plainly, expected) + bound + 4 * limits.smallest_normal
                fine = off(got, expected) <= allowed
                if module is ops:  # finite where the result is, whatever becomes of the definition
                    fine = fine & got.isfinite()
                assert (fine | ~fits).all(), (what, term, module.__name__, dtype, got, expected, allowed)


SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 2.0**-149)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        ("sum", {}),
        ("mean", {}),
        ("max", {}),
        ("min", {}),
        ("softmax", {"beta": 1.5}),
        ("softmax", {"beta": -2.0}),
        ("softmax", {"beta": 1.5, "semi_gradient": True}),
        ("softmax", {"beta": -2.0, "semi_gradient": True}),
        ("power_mean", {"p": -1.0}),
        ("power_mean", {"p": 2.0}),
    ],
)
def test_special_values_go_through_as_in_the_definition(function: str, options: dict[str, float]) -> None:
    """What is not finite is never hidden. A gradient may be finite where only the definition's logarithms are not."""
    places = (0, 1, 4, COUNT - 1)  # alone, of two, of three, of twelve
    for special, place, eps, term in product(SPECIAL, places, (None, 1e-7), ("none", "affine", "affine, wide")):
        results = []
        for module in (ops, reference):
            x = messages("to 1")[:, None].repeat(1, width(term)) + 0.25
            x[place] = special
            x.requires_grad_()
            tensors = NO_TERM[term]
            edge = ops.Affine(*tensors) if tensors else None
            out = getattr(module, function)(x, ADJACENCY, edge, eps=eps, **options)
            results.append((out.detach(), torch.autograd.grad(out.sum(), x)[0]))
        (ours, dx), (theirs, expected) = results
        torch.testing.assert_close(ours, theirs, equal_nan=True, rtol=gamma(40, x.dtype), atol=4 * 2.0**-149)
        known = expected.isfinite() | ~theirs[TARGETS].isfinite()
        torch.testing.assert_close(
            dx[known], expected[known], equal_nan=True, rtol=gamma(80, x.dtype), atol=gamma(8, x.dtype)
        )


@pytest.mark.parametrize("function", ["max", "min"])
@pytest.mark.parametrize("module", [ops, reference])
def test_messages_of_zero_keep_the_whole_gradient(module: ModuleType, function: str) -> None:
    x = torch.zeros(COUNT, 1, requires_grad=True)
    getattr(module, function)(x, ADJACENCY, eps=None).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad.sum(), torch.tensor(float(len(SIZES))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_moments_of_a_batch_far_from_zero(dtype: torch.dtype) -> None:
    steps = torch.arange(-8, 9, dtype=torch.float64).repeat(40)[:, None]
    far = 2.0**20 if dtype == torch.float32 else 2.0**48
    out, mean, variance = norm_relu_dropout((steps + far).to(dtype), "batch", relu=False)
    assert mean.item() == far
    assert variance.item() == 24
    rounding = gamma(8, dtype)
    torch.testing.assert_close(out, (steps / math.sqrt(24 + 1e-5)).to(dtype), rtol=rounding, atol=0.0)
