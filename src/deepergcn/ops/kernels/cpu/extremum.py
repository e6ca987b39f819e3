"""Max and min of the messages: messages that tie for it share the gradient evenly."""

import numpy as np

from deepergcn.ops.kernels.cpu.machine.arrays import bare, prefetch_row, working_row
from deepergcn.ops.kernels.cpu.machine.intrinsics import choose
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import (
    chunk_begin,
    edge_part,
    edge_value,
    lookahead,
    message,
    prefetch_edge,
    source_row,
)


@body
def _forward(chunk, chunks, rowptr, source, place, x, edge, floor, eps, sign, out, ties):
    """out = sign max(sign m) for every target, and the number of messages that reach it.

    Args:
        sign: 1 for max, -1 for min.
        out, ties: [targets, channels].
    """
    if chunk < 0:
        write_call(chunks)
        return
    x, edge = bare(x), bare(edge)
    source, place = bare(source), bare(place)
    channels = x.shape[1]
    edges = source.shape[0]
    ahead = lookahead(x, edges)
    zero, one = x.dtype.type(0), x.dtype.type(1)
    room = working_row(x, channels)
    top = working_row(x, channels)
    count = working_row(x, channels)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        for j in range(channels):
            top[j] = -np.inf
            count[j] = 0
        for k in range(rowptr[v], rowptr[v + 1]):
            if k + ahead < edges:
                prefetch_row(x, source[k + ahead])
                prefetch_edge(edge, place[k + ahead])
            part = edge_part(edge, place[k])
            row = source_row(x, source[k], edge, place[k], room)
            for j in range(channels):
                z = sign * message(edge_value(row, edge, part, j), floor, eps)
                taken = (z > top[j]) | (z != z)  # a NaN is taken and stays
                count[j] = choose(taken, one, count[j] + (one if z == top[j] else zero))
                top[j] = choose(taken, z, top[j])
        if rowptr[v] == rowptr[v + 1]:
            for j in range(channels):
                top[j] = 0
                count[j] = 1
        for j in range(channels):
            out[v, j] = sign * top[j]
            ties[v, j] = count[j] if top[j] == top[j] else np.nan


forward = kernel(_forward)
