"""The backward of every aggregation with messages on edges: over the transposed structure, source by source.

Messages and weights are made anew from what forward kept for each target. What differs between the aggregations is the
derivative of one message, given by a ``rule``, a tuple of arrays told apart by its length when the kernel is compiled:

    sum         (g,)                                          dm = g
    max, min    (out, g / ties)                               dm = g / ties where m = out
    power mean  (p, dominant, g relative / S)                 dm = g relative / S exp((p - 1) ln(m / dominant)),
                                                              relative = out / dominant
    softmax     (beta, slope, dominant, offset, g / S)        dm = g w / S (1 + slope (m - dominant - offset)),
                                                              w = exp(beta (m - dominant)),
                                                              offset = out - dominant;
                                                              slope is beta, 0 for the semi-gradient

Arrays named by g, out, S, dominant, relative, offset and ties are [targets, channels], the others [channels]. Nothing
is added by two chunks to the same place, and the chunks' sums are added in their order: every run gives the same bits.
"""

from numba.extending import overload

from deepergcn.ops.kernels.cpu.machine.arrays import bare, prefetch_row, sum_rows, working_row, working_rows
from deepergcn.ops.kernels.cpu.machine.jit import INSIDE, OPTIONS, body, kernel
from deepergcn.ops.kernels.cpu.machine.maths import log, root_of_exp, weight
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import (
    FLUSH,
    TOGETHER,
    add_edge_gradients,
    chunk_begin,
    edge_part,
    edge_value,
    flush,
    lookahead,
    message,
    prefetch_edge,
    source_row,
)

_SUM, _EXTREMUM, _POWER_MEAN, _SOFTMAX = 1, 2, 3, 5


@body
def _backward(chunk, chunks, rowptr, target, place, x, edge, floor, eps, rule, dx, tables, totals):
    """The gradients of one chunk of sources and their out-edges.

    Args:
        dx: [sources, channels], the gradient of x.
        tables: [chunks, rows, channels], or one for all chunks with a row an edge: the gradient of a table.
        totals: [chunks, K + 2, channels], float64: the gradients of weight, bias and, last, beta.
    """
    if chunk < 0:
        write_call(chunks)
        return
    x, edge, rule = bare(x), bare(edge), bare(rule)
    target, place, tables = bare(target), bare(place), bare(tables)
    channels = x.shape[1]
    edges = target.shape[0]
    ahead = lookahead(x, edges)
    room = working_row(x, channels)
    dh = working_rows(x, channels)[:TOGETHER]
    acc = working_row(x, channels)
    sums = sum_rows(x, totals.shape[1], channels)
    bias = sums[sums.shape[0] - 2]
    dbeta = sums[sums.shape[0] - 1]
    table_sums = tables[min(chunk, tables.shape[0] - 1)]
    pending = 0
    end = chunk_begin(rowptr, chunk + 1, chunks)
    for u in range(chunk_begin(rowptr, chunk, chunks), end):
        for j in range(channels):
            acc[j] = 0
        for k in range(rowptr[u], rowptr[u + 1]):
            if k + ahead < edges:
                prefetch_target(rule, target[k + ahead])
                prefetch_edge(edge, place[k + ahead])
            part = edge_part(edge, place[k])
            row = source_row(x, u, edge, place[k], room)
            derivative(rule, target[k], row, edge, part, floor, eps, dh[pending % TOGETHER], acc, dbeta)
            pending += 1
            if pending % TOGETHER == 0:
                add_edge_gradients(dh, TOGETHER, edge, place, k + 1, table_sums, sums)
            if pending == FLUSH:
                flush(sums, totals[chunk])
                pending = 0
        for j in range(channels):
            dx[u, j] = acc[j]
            bias[j] += acc[j]
    add_edge_gradients(dh, pending % TOGETHER, edge, place, rowptr[end], table_sums, sums)
    flush(sums, totals[chunk])


backward = kernel(_backward)


def prefetch_target(rule, v):
    """Ask for what ``derivative`` reads of target ``v``."""
    raise NotImplementedError


@overload(prefetch_target, jit_options=INSIDE)
def _prefetch_target(rule, v):
    def one(rule, v):
        prefetch_row(rule[0], v)

    def two(rule, v):
        prefetch_row(rule[0], v)
        prefetch_row(rule[1], v)

    def last_two(rule, v):
        prefetch_row(rule[1], v)
        prefetch_row(rule[2], v)

    def last_three(rule, v):
        prefetch_row(rule[2], v)
        prefetch_row(rule[3], v)
        prefetch_row(rule[4], v)

    return {_SUM: one, _EXTREMUM: two, _POWER_MEAN: last_two, _SOFTMAX: last_three}[len(rule)]


def derivative(rule, v, row, edge, part, floor, eps, dh, acc, dbeta):
    """dh, the gradient of h = h_u + h_e through the message to target ``v``, added to ``acc`` too; softmax adds its
    share of dbeta.

    One loop does it all: a second one over the same rows takes half as long again.
    """
    raise NotImplementedError


@overload(derivative, jit_options=OPTIONS, inline="always")
def _derivative(rule, v, row, edge, part, floor, eps, dh, acc, dbeta):
    def total(rule, v, row, edge, part, floor, eps, dh, acc, dbeta):
        g = rule[0]
        zero = acc.dtype.type(0)
        for j in range(acc.shape[0]):
            h = edge_value(row, edge, part, j)
            d = zero if h <= floor else g[v, j]
            dh[j] = d
            acc[j] += d

    def extremum(rule, v, row, edge, part, floor, eps, dh, acc, dbeta):
        out, share = rule
        zero, one = acc.dtype.type(0), acc.dtype.type(1)
        for j in range(acc.shape[0]):
            h = edge_value(row, edge, part, j)
            reached = one if message(h, floor, eps) == out[v, j] else zero
            d = zero if h <= floor else reached * share[v, j]  # NaN for a target that has met a NaN
            dh[j] = d
            acc[j] += d

    def power_mean(rule, v, row, edge, part, floor, eps, dh, acc, dbeta):
        p, dominant, share = rule
        zero, one = acc.dtype.type(0), acc.dtype.type(1)
        for j in range(acc.shape[0]):
            h = edge_value(row, edge, part, j)
            m = message(h, floor, eps)
            root = root_of_exp((p[j] - one) * log(m / dominant[v, j]))
            d = zero if h <= floor else share[v, j] * root * root
            dh[j] = d
            acc[j] += d

    def softmax(rule, v, row, edge, part, floor, eps, dh, acc, dbeta):
        beta, slope, dominant, offset, share = rule
        zero = acc.dtype.type(0)
        for j in range(acc.shape[0]):
            h = edge_value(row, edge, part, j)
            below = message(h, floor, eps) - dominant[v, j]
            w = share[v, j] * weight(beta[j] * below)
            away = below - offset[v, j]
            dbeta[j] += w * away * away
            whole = w if slope[j] == zero else w + slope[j] * w * away  # 0 times an infinite distance is NaN
            d = zero if h <= floor else whole
            dh[j] = d
            acc[j] += d

    return {_SUM: total, _EXTREMUM: extremum, _POWER_MEAN: power_mean, _SOFTMAX: softmax}[len(rule)]
