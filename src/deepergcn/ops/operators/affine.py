"""From tensors to the kernels for affine edge terms of few features in float32, and back."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from deepergcn.ops.kernels.cpu.affine import kernels
from deepergcn.ops.kernels.cpu.affine.edges import BETA, BIAS, CONSTANTS, DBETA, SIGN, SLOPE, SUMS
from deepergcn.ops.kernels.cpu.machine.arrays import AT_ONCE
from deepergcn.ops.kernels.cpu.machine.lanes import LANES
from deepergcn.ops.operators.cpu import Array, array, channel_of_lanes, chunk_count, floor_and_eps, in_blocks


def fits(x: Tensor, edge: Sequence[Tensor]) -> bool:
    """Whether these kernels take x and the edge term."""
    few = len(edge) == 3 and edge[0].shape[1] <= AT_ONCE
    return few and x.dtype == torch.float32 and x.shape[1] >= LANES


def run_forward(
    x: Tensor,
    graph: Sequence[Tensor],
    edge: Sequence[Tensor],
    eps: float | None,
    outputs: Sequence[Tensor],
    sign: Array | float = 1.0,
    beta: Array | float = 0.0,
    slope: Array | float = 0.0,
) -> None:
    """Fill the outputs of an aggregation, whose number tells which it is."""
    values = array(x)
    kernels.forward(
        chunk_count(graph, x.shape[1]),
        *(array(t) for t in graph[:3]),
        values,
        array(edge[0]),
        _constants(edge, sign, beta, slope),
        *floor_and_eps(eps, values),
        tuple(array(t) for t in outputs),
    )


def run_backward(
    x: Tensor,
    graph: Sequence[Tensor],
    edge: Sequence[Tensor],
    eps: float | None,
    rule: Sequence[Tensor],
    beta: Array | float = 0.0,
    slope: Array | float = 0.0,
    *,
    kind: int = 0,
) -> tuple[Tensor, list[Tensor], Tensor]:
    """The gradients of x, of the weight and the bias, and of beta.

    ``rule`` are the rows that a target has, whose number tells the aggregation if ``kind`` does not.
    """
    values = array(x)
    chunks, features = chunk_count(graph, x.shape[1]), edge[0].shape[1]
    lanes = channel_of_lanes(x.shape[1])
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    totals = np.zeros((chunks, len(lanes) // LANES * SUMS, LANES))
    kernels.backward(
        chunks,
        *(array(t) for t in graph[3:]),
        values,
        array(edge[0]),
        _constants(edge, 1.0, beta, slope),
        *floor_and_eps(eps, values),
        (array(_in_blocks(rule)),) * (kind or len(rule)),
        array(dx),
        totals,
    )
    sums = np.empty((SUMS, x.shape[1]), values.dtype)
    with np.errstate(all="ignore"):
        sums[:, lanes] = totals.sum(axis=0).reshape(-1, SUMS, LANES).transpose(1, 0, 2).reshape(SUMS, -1)
    weight, bias, dbeta = sums[:features].T, sums[AT_ONCE], sums[DBETA]
    return dx, [torch.from_numpy(found.copy()) for found in (weight, bias)], torch.from_numpy(dbeta.copy())


def _constants(edge: Sequence[Tensor], sign: Array | float, beta: Array | float, slope: Array | float) -> Array:
    """``constants`` of the kernels."""
    _, weight, bias = edge
    rows = np.zeros((CONSTANTS, weight.shape[0]), np.float32)
    rows[: weight.shape[1]] = array(weight).T
    rows[BIAS], rows[SIGN], rows[BETA], rows[SLOPE] = array(bias), sign, beta, slope
    return in_blocks(rows)


def _in_blocks(rows: Sequence[Tensor]) -> Tensor:
    """Rows [targets, channels] next to each other for every block: [targets, blocks, rows, LANES]."""
    channels = rows[0].shape[1]
    if channels % LANES:
        lanes = torch.from_numpy(channel_of_lanes(channels))
        rows = [row[:, lanes] for row in rows]
    return torch.stack([row.unflatten(1, (-1, LANES)) for row in rows], dim=2)
