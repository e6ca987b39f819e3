"""The sum of the messages; the mean is it over the degree."""

import triton
import triton.language as tl
from torch import Tensor

from deepergcn.ops.kernels.contract import Gradients, Tensors
from deepergcn.ops.kernels.gpu.backward import SUM, run_backward
from deepergcn.ops.kernels.gpu.launch import number_of, reduce_rows
from deepergcn.ops.kernels.gpu.maths import divide
from deepergcn.ops.kernels.gpu.rows import JOINED, PART, columns_of, messages, slot_of, span


@triton.jit
def _forward(
    graph, x, term, out, partial, channels, AVERAGE: tl.constexpr,
    PHASE: tl.constexpr, LONG: tl.constexpr, KIND: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    row, begin, end = span(graph, LONG, PHASE)
    columns, inside = columns_of(channels, BLOCK_C)
    total = tl.zeros([BLOCK_C], NUMBER)
    if PHASE == JOINED and end - begin > LONG:
        for cut in range(begin // LONG, (end + LONG - 1) // LONG):
            total += tl.load(partial + slot_of(cut, begin, LONG) * channels + columns, mask=inside, other=0.0)
    else:
        for k in range(begin, end, BLOCK_E):
            m, live = messages(k, end, graph, x, term, columns, inside, channels, KIND, RELU, EPS, NUMBER, BLOCK_E)
            total += tl.sum(tl.where(live, m, 0.0), axis=0)
    if PHASE == PART:
        if end > begin:
            tl.store(partial + tl.program_id(0).to(tl.int64) * channels + columns, total, mask=inside)
    else:
        if AVERAGE:
            total = divide(total, tl.zeros([BLOCK_C], NUMBER) + tl.maximum(end - begin, 1).to(NUMBER))
        tl.store(out + row * channels + columns, total.to(out.dtype.element_ty), mask=inside)


def forward(x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, average: int) -> list[Tensor]:
    out = shapes(x, unused, graph, edge, eps, average)
    reduce_rows(_forward, graph[:3], x, edge, eps, out, sums=1, AVERAGE=bool(average))
    return out


def backward(
    g: Tensor, x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, average: int, kept: Tensors
) -> Gradients:
    if average:
        g = g / (graph[0][1:] - graph[0][:-1]).clamp(min=1).to(number_of(x))[:, None]
    dx, d_edge, _ = run_backward(SUM, (g,), x, graph, edge, eps)
    return dx, d_edge, unused.new_zeros(unused.shape)


def shapes(x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, average: int) -> list[Tensor]:
    return [x.new_empty(graph[0].shape[0] - 1, x.shape[1])]
