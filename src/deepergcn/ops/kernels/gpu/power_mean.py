"""PowerMean_Agg through logarithms, in one pass over a neighbourhood: m* exp(M) with m* the vertex's dominant message,
d = ln(m / m*) and M = ln(mean exp(p d)) / p.

As p d <= 0 nothing overflows; as the mean is also kept less 1, p may come as near 0 as one likes. The state of a pass
is m* as far as it is known, S = sum exp(p d) and Q = sum (exp(p d) - 1); a new m*, with r = exp(p ln(m* / new)), makes
them S r and Q r + n (r - 1), where no two terms cancel.

The slope in p takes a second pass, in backward, where p is learned. Its terms are never negative (the CPU's kernel):

    dM/dp = mean_u (d_u - M)^2 psi(p (d_u - M)),   psi(t) = (t e^t - e^t + 1) / t^2
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from deepergcn.ops.kernels.contract import Gradients, Tensors, nonzero_power
from deepergcn.ops.kernels.gpu.backward import POWER_MEAN, run_backward
from deepergcn.ops.kernels.gpu.launch import SMALL_TILE, number_of, reduce_rows
from deepergcn.ops.kernels.gpu.maths import divide, excess, exp_pair, log1p, root_of_exp
from deepergcn.ops.kernels.gpu.rows import JOINED, PART, columns_of, messages, slot_of, span


@triton.jit
def _rescale(top, S, Q, count, new, p):
    """The sums of ``count`` messages relative to the new dominant message; none yet where ``count`` is 0."""
    ratio = tl.where(count > 0, divide(top, new), 1.0)
    power, less_one = exp_pair(p * tl.log(ratio))
    return S * power, Q * power + less_one * count.to(S.dtype)


@triton.jit
def _dominant(a, b, sign):
    """The one that is larger times ``sign``; the other where one is NaN."""
    return tl.maximum(a * sign, b * sign) * sign


@triton.jit
def _forward(
    graph, x, term, powers, out, level, dominant, total, partial, channels,
    PHASE: tl.constexpr, LONG: tl.constexpr, KIND: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """out = m* exp(M), level = M, dominant = m* and total = S; p is not 0 but may be as small as 1e-20."""
    row, begin, end = span(graph, LONG, PHASE)
    columns, inside = columns_of(channels, BLOCK_C)
    p = tl.load(powers + columns, mask=inside, other=1.0).to(NUMBER)
    sign = tl.where(p >= 0.0, 1.0, -1.0).to(NUMBER)
    top = tl.full([BLOCK_C], float("-inf"), NUMBER) * sign
    S = tl.zeros([BLOCK_C], NUMBER)
    Q = tl.zeros([BLOCK_C], NUMBER)
    if PHASE == JOINED and end - begin > LONG:
        for cut in range(begin // LONG, (end + LONG - 1) // LONG):
            at = partial + slot_of(cut, begin, LONG) * 3 * channels + columns
            other = tl.load(at, mask=inside, other=1.0)
            new = _dominant(top, other, sign)
            S, Q = _rescale(top, S, Q, tl.maximum(cut * LONG, begin) - begin, new, p)
            more = tl.load(at + channels, mask=inside, other=0.0)
            less = tl.load(at + 2 * channels, mask=inside, other=0.0)
            count = tl.minimum((cut + 1) * LONG, end) - tl.maximum(cut * LONG, begin)
            more, less = _rescale(other, more, less, count, new, p)
            S += more
            Q += less
            top = new
    else:
        for k in range(begin, end, BLOCK_E):
            m, live = messages(k, end, graph, x, term, columns, inside, channels, KIND, RELU, EPS, NUMBER, BLOCK_E)
            z = tl.where(live, m * sign[None, :], float("-inf"))
            new = _dominant(top, tl.max(z, axis=0) * sign, sign)
            S, Q = _rescale(top, S, Q, k - begin, new, p)
            there = tl.broadcast_to(new[None, :], m.shape)
            power, less_one = exp_pair(p[None, :] * tl.log(divide(tl.where(live, m, there), there)))
            S += tl.sum(tl.where(live, power, 0.0), axis=0)
            Q += tl.sum(tl.where(live, less_one, 0.0), axis=0)
            top = new
    if PHASE == PART:
        if end > begin:
            at = partial + tl.program_id(0).to(tl.int64) * 3 * channels + columns
            tl.store(at, top, mask=inside)
            tl.store(at + channels, S, mask=inside)
            tl.store(at + 2 * channels, Q, mask=inside)
    else:
        count = tl.zeros([BLOCK_C], NUMBER) + tl.maximum(end - begin, 1).to(NUMBER)
        q = divide(Q, count)
        is_near = q > -0.5
        S = tl.where(end > begin, S, 1.0)
        M = tl.where(is_near, log1p(tl.where(is_near, q, 0.0)), tl.log(divide(S, count)))
        M = divide(tl.where(S == S, M, S), p)
        top = tl.where(end > begin, top, 1.0)
        root = root_of_exp(M)
        at = row * channels + columns
        result = tl.where(end > begin, top * root * root, 0.0)
        tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)
        tl.store(level + at, M, mask=inside)
        tl.store(dominant + at, top, mask=inside)
        tl.store(total + at, S, mask=inside)


@triton.jit
def _slope(
    graph, x, term, powers, level, dominant, slope, partial, channels,
    PHASE: tl.constexpr, LONG: tl.constexpr, KIND: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """slope = dout/dp = out dM/dp for every target."""
    row, begin, end = span(graph, LONG, PHASE)
    columns, inside = columns_of(channels, BLOCK_C)
    p = tl.load(powers + columns, mask=inside, other=1.0).to(NUMBER)
    M = tl.load(level + row * channels + columns, mask=inside, other=0.0)
    top = tl.load(dominant + row * channels + columns, mask=inside, other=1.0)
    total = tl.zeros([BLOCK_C], NUMBER)
    if PHASE == JOINED and end - begin > LONG:
        for cut in range(begin // LONG, (end + LONG - 1) // LONG):
            total += tl.load(partial + slot_of(cut, begin, LONG) * channels + columns, mask=inside, other=0.0)
    else:
        for k in range(begin, end, BLOCK_E):
            m, live = messages(k, end, graph, x, term, columns, inside, channels, KIND, RELU, EPS, NUMBER, BLOCK_E)
            there = tl.broadcast_to(top[None, :], m.shape)
            away = tl.log(divide(tl.where(live, m, there), there)) - M[None, :]
            total += tl.sum(tl.where(live, away * away * excess(p[None, :] * away), 0.0), axis=0)
    if PHASE == PART:
        if end > begin:
            tl.store(partial + tl.program_id(0).to(tl.int64) * channels + columns, total, mask=inside)
    else:
        count = tl.zeros([BLOCK_C], NUMBER) + tl.maximum(end - begin, 1).to(NUMBER)
        root = root_of_exp(M)
        tl.store(slope + row * channels + columns, top * root * root * divide(total, count), mask=inside)


def forward(x: Tensor, p: Tensor, graph: Tensors, edge: Tensors, eps: float | None, learn: int) -> list[Tensor]:
    """[out, level, dominant, total]."""
    outputs = shapes(x, p, graph, edge, eps, learn)
    reduce_rows(_forward, graph[:3], x, edge, eps, [nonzero_power(p), *outputs], sums=3)
    return outputs


def backward(
    g: Tensor, x: Tensor, p: Tensor, graph: Tensors, edge: Tensors, eps: float | None, learn: int, kept: Tensors
) -> Gradients:
    level, dominant, total = kept
    powers = nonzero_power(p)
    share = (g * level.exp()).div_(total)
    dx, d_edge, _ = run_backward(POWER_MEAN, (dominant, share, None, powers), x, graph, edge, eps)
    if not learn:
        return dx, d_edge, torch.zeros_like(p)
    slope = torch.empty_like(level)
    reduce_rows(_slope, graph[:3], x, edge, eps, [powers, level, dominant, slope], sums=1, tile_bytes=SMALL_TILE)
    return dx, d_edge, (g * slope).sum(dim=0, dtype=torch.float64).to(p.dtype)


def shapes(x: Tensor, p: Tensor, graph: Tensors, edge: Tensors, eps: float | None, learn: int) -> list[Tensor]:
    size = (graph[0].shape[0] - 1, x.shape[1])
    return [x.new_empty(size), *(x.new_empty(size, dtype=number_of(x)) for _ in range(3))]
