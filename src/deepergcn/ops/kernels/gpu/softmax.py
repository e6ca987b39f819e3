"""SoftMax_Agg in one pass over a neighbourhood: each vertex shifts by its own dominant message, as far as it is known.

The state of a pass is the dominant message and three sums relative to it,

    S = sum w      A = sum w m      D = sum w (m - dominant)      w = exp(beta (m - dominant)),

and a new dominant message rescales them. All terms of D have one sign, so that out - dominant = D / S, which backward
needs, has every digit. Messages are taken times the sign of beta: the dominant one then is always the largest.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from deepergcn.ops.kernels.contract import LEARNED, SEMI_GRADIENT, Gradients, Tensors
from deepergcn.ops.kernels.gpu.backward import SOFTMAX, run_backward
from deepergcn.ops.kernels.gpu.launch import number_of, reduce_rows
from deepergcn.ops.kernels.gpu.maths import divide
from deepergcn.ops.kernels.gpu.rows import JOINED, PART, columns_of, messages, slot_of, span


@triton.jit
def _rescale(top, S, A, D, new, strength):
    """The sums relative to the new dominant message; nothing has been added yet where the old one is -inf."""
    step = tl.where(top == float("-inf"), 0.0, top - new)
    factor = tl.exp(strength * step)
    return S * factor, A * factor, (D + S * step) * factor


@triton.jit
def _forward(
    graph, x, term, beta, out, dominant, offset, total, partial, channels,
    PHASE: tl.constexpr, LONG: tl.constexpr, KIND: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    row, begin, end = span(graph, LONG, PHASE)
    columns, inside = columns_of(channels, BLOCK_C)
    strength = tl.load(beta + columns, mask=inside, other=0.0).to(NUMBER)
    sign = tl.where(strength >= 0.0, 1.0, -1.0).to(NUMBER)
    strength = tl.abs(strength)
    top = tl.full([BLOCK_C], float("-inf"), NUMBER)
    S = tl.zeros([BLOCK_C], NUMBER)
    A = tl.zeros([BLOCK_C], NUMBER)
    D = tl.zeros([BLOCK_C], NUMBER)
    if PHASE == JOINED and end - begin > LONG:
        for cut in range(begin // LONG, (end + LONG - 1) // LONG):
            at = partial + slot_of(cut, begin, LONG) * 4 * channels + columns
            other = tl.load(at, mask=inside, other=0.0)
            new = tl.maximum(top, other)
            S, A, D = _rescale(top, S, A, D, new, strength)
            weights = tl.load(at + channels, mask=inside, other=0.0)
            sums = tl.load(at + 2 * channels, mask=inside, other=0.0)
            offsets = tl.load(at + 3 * channels, mask=inside, other=0.0)
            weights, sums, offsets = _rescale(other, weights, sums, offsets, new, strength)
            S += weights
            A += sums
            D += offsets
            top = new
    else:
        for k in range(begin, end, BLOCK_E):
            m, live = messages(k, end, graph, x, term, columns, inside, channels, KIND, RELU, EPS, NUMBER, BLOCK_E)
            z = tl.where(live, m * sign[None, :], float("-inf"))
            new = tl.maximum(top, tl.max(z, axis=0))
            S, A, D = _rescale(top, S, A, D, new, strength)
            away = tl.where(live, z - new[None, :], 0.0)
            w = tl.where(live, tl.exp(strength[None, :] * away), 0.0)
            S += tl.sum(w, axis=0)
            A += tl.sum(w * tl.where(live, z, 0.0), axis=0)
            D += tl.sum(w * away, axis=0)
            top = new
    if PHASE == PART:
        if end > begin:
            at = partial + tl.program_id(0).to(tl.int64) * 4 * channels + columns
            tl.store(at, top, mask=inside)
            tl.store(at + channels, S, mask=inside)
            tl.store(at + 2 * channels, A, mask=inside)
            tl.store(at + 3 * channels, D, mask=inside)
    else:
        top = tl.where(end > begin, top, 0.0)
        S = tl.where(end > begin, S, 1.0)
        at = row * channels + columns
        tl.store(out + at, (sign * divide(A, S)).to(out.dtype.element_ty), mask=inside)
        tl.store(dominant + at, sign * top, mask=inside)
        tl.store(offset + at, sign * divide(D, S), mask=inside)
        tl.store(total + at, S, mask=inside)


def forward(x: Tensor, beta: Tensor, graph: Tensors, edge: Tensors, eps: float | None, mode: int) -> list[Tensor]:
    """[out, dominant, offset, total]."""
    outputs = shapes(x, beta, graph, edge, eps, mode)
    reduce_rows(_forward, graph[:3], x, edge, eps, [beta, *outputs], sums=4)
    return outputs


def backward(
    g: Tensor, x: Tensor, beta: Tensor, graph: Tensors, edge: Tensors, eps: float | None, mode: int, kept: Tensors
) -> Gradients:
    dominant, offset, total = kept
    rule = (dominant, g / total, offset, beta)
    dx, d_edge, shares = run_backward(
        SOFTMAX, rule, x, graph, edge, eps, slope=mode != SEMI_GRADIENT, learned=mode == LEARNED
    )
    dbeta = shares.sum(dim=0, dtype=torch.float64).to(beta.dtype) if shares is not None else torch.zeros_like(beta)
    return dx, d_edge, dbeta


def shapes(x: Tensor, beta: Tensor, graph: Tensors, edge: Tensors, eps: float | None, mode: int) -> list[Tensor]:
    size = (graph[0].shape[0] - 1, x.shape[1])
    return [x.new_empty(size), *(x.new_empty(size, dtype=number_of(x)) for _ in range(3))]
