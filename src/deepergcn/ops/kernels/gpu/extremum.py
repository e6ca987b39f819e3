"""Max and min of the messages: messages that tie for it share the gradient evenly."""

import triton
import triton.language as tl
from torch import Tensor

from deepergcn.ops.kernels.contract import Gradients, Tensors
from deepergcn.ops.kernels.gpu.backward import EXTREMUM, run_backward
from deepergcn.ops.kernels.gpu.launch import number_of, reduce_rows
from deepergcn.ops.kernels.gpu.rows import JOINED, PART, columns_of, messages, slot_of, span


@triton.jit
def _take(top, count, other, others):
    """The larger of two maxima, NaN before all, and how many messages reach it."""
    more = tl.where((other > top) | (other != other), other, top)
    count = tl.where(top == more, count, 0.0)
    return more, count + tl.where(other == more, others, 0.0)


@triton.jit
def _forward(
    graph, x, term, out, exact, ties, partial, channels, SIGN: tl.constexpr,
    PHASE: tl.constexpr, LONG: tl.constexpr, KIND: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """out = sign max(sign m) for every target and the number of messages that reach it; ``exact`` is out unrounded."""
    row, begin, end = span(graph, LONG, PHASE)
    columns, inside = columns_of(channels, BLOCK_C)
    top = tl.full([BLOCK_C], float("-inf"), NUMBER)
    count = tl.zeros([BLOCK_C], NUMBER)
    if PHASE == JOINED and end - begin > LONG:
        for cut in range(begin // LONG, (end + LONG - 1) // LONG):
            at = partial + slot_of(cut, begin, LONG) * 2 * channels + columns
            other = tl.load(at, mask=inside, other=0.0)
            others = tl.load(at + channels, mask=inside, other=0.0)
            top, count = _take(top, count, other, others)
    else:
        for k in range(begin, end, BLOCK_E):
            m, live = messages(k, end, graph, x, term, columns, inside, channels, KIND, RELU, EPS, NUMBER, BLOCK_E)
            z = tl.where(live, m * SIGN, float("-inf"))
            is_nan = tl.sum((z != z).to(tl.int32), axis=0) > 0
            other = tl.where(is_nan, float("nan"), tl.max(z, axis=0))
            others = tl.sum((live & (z == other[None, :])).to(NUMBER), axis=0)
            top, count = _take(top, count, other, others)
    if PHASE == PART:
        if end > begin:
            at = partial + tl.program_id(0).to(tl.int64) * 2 * channels + columns
            tl.store(at, top, mask=inside)
            tl.store(at + channels, count, mask=inside)
    else:
        top = tl.where(end > begin, top * SIGN, 0.0)
        count = tl.where(end > begin, count, 1.0)
        at = row * channels + columns
        tl.store(out + at, top.to(out.dtype.element_ty), mask=inside)
        if exact.dtype.element_ty != out.dtype.element_ty:
            tl.store(exact + at, top, mask=inside)
        tl.store(ties + at, tl.where(top == top, count, float("nan")), mask=inside)


def forward(x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, smallest: int) -> list[Tensor]:
    """[out, exact, ties]: ``exact`` has no rows where ``out`` is not rounded."""
    outputs = shapes(x, unused, graph, edge, eps, smallest)
    reduce_rows(_forward, graph[:3], x, edge, eps, outputs, sums=2, SIGN=-1.0 if smallest else 1.0)
    return outputs


def backward(
    g: Tensor, x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, smallest: int, kept: Tensors
) -> Gradients:
    out, exact, ties = kept
    reached = exact if exact.dtype != out.dtype else out
    dx, d_edge, _ = run_backward(EXTREMUM, (reached, g / ties), x, graph, edge, eps)
    return dx, d_edge, unused.new_zeros(unused.shape)


def shapes(x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, smallest: int) -> list[Tensor]:
    targets, number = graph[0].shape[0] - 1, number_of(x)
    unrounded = 0 if number == x.dtype else targets
    return [x.new_empty(targets, x.shape[1]), *(x.new_empty(n, x.shape[1], dtype=number) for n in (unrounded, targets))]
