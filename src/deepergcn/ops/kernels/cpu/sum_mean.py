"""The sum of the messages; the mean is it over the degree."""

from deepergcn.ops.kernels.cpu.machine.arrays import bare, prefetch_row, working_row
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
def _forward(chunk, chunks, rowptr, source, place, x, edge, floor, eps, out):
    """out = sum m for every target."""
    if chunk < 0:
        write_call(chunks)
        return
    x, edge = bare(x), bare(edge)
    source, place = bare(source), bare(place)
    channels = x.shape[1]
    edges = source.shape[0]
    ahead = lookahead(x, edges)
    room = working_row(x, channels)
    acc = working_row(x, channels)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        for j in range(channels):
            acc[j] = 0
        for k in range(rowptr[v], rowptr[v + 1]):
            if k + ahead < edges:
                prefetch_row(x, source[k + ahead])
                prefetch_edge(edge, place[k + ahead])
            part = edge_part(edge, place[k])
            row = source_row(x, source[k], edge, place[k], room)
            for j in range(channels):
                acc[j] += message(edge_value(row, edge, part, j), floor, eps)
        for j in range(channels):
            out[v, j] = acc[j]


forward = kernel(_forward)
