"""SoftMax_Agg on edges: each vertex shifts by its own dominant message, nothing edge-sized is stored.

What backward needs is how far a message lies from the result, which the difference of the two would lose where they are
large or beta is: it keeps the dominant message and the result's distance from it, to which every digit is known.

Forward takes two passes over a neighbourhood, the dominant message first, then the sums. The first pass keeps the
messages it made as long as they fit the cache, so that the second rarely makes them again. A vertex with up to three
in-edges in a small graph, as most atoms are, takes one pass with all its messages in registers: a quarter less time.
"""

import numpy as np
from numba import njit

from deepergcn.ops.kernels.cpu.machine.arrays import bare, prefetch_row, working_row, working_rows
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.maths import weight
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import (
    chunk_begin,
    edge_part,
    edge_value,
    load_again,
    load_dominant,
    lookahead,
    message,
    prefetch_edge,
    source_row,
)


@njit(inline="always")
def _dominant(a, b, sign):
    return a if sign * a >= sign * b else b


@njit(inline="always")
def _few(begin, end, source, place, x, edge, floor, eps, sign, beta, A, D, top, S, rooms):
    """The result, its distance from the dominant message, that message and S of a vertex with one to three in-edges."""
    degree = end - begin
    one = x.dtype.type(1)
    e, f, g = place[begin], place[min(begin + 1, end - 1)], place[end - 1]
    u = source_row(x, source[begin], edge, e, rooms[0])
    v = source_row(x, source[min(begin + 1, end - 1)], edge, f, rooms[1])
    w = source_row(x, source[end - 1], edge, g, rooms[2])
    p, q, r = edge_part(edge, e), edge_part(edge, f), edge_part(edge, g)
    if degree == 1:
        for j in range(x.shape[1]):
            a = message(edge_value(u, edge, p, j), floor, eps)
            top[j] = a
            D[j] = a - a  # NaN for a message that is not finite, as among others
            A[j] = a + D[j]
            S[j] = one
    elif degree == 2:
        for j in range(x.shape[1]):
            a = message(edge_value(u, edge, p, j), floor, eps)
            b = message(edge_value(v, edge, q, j), floor, eps)
            first = sign[j] * a >= sign[j] * b
            most = a if first else b
            least = b if first else a
            share = weight(beta[j] * (least - most))
            top[j] = most
            S[j] = one + share + (most - most)  # NaN where the dominant message is not finite
            A[j] = (most + share * least) / S[j]
            D[j] = share * (least - most) / S[j]
    else:
        for j in range(x.shape[1]):
            a = message(edge_value(u, edge, p, j), floor, eps)
            b = message(edge_value(v, edge, q, j), floor, eps)
            c = message(edge_value(w, edge, r, j), floor, eps)
            most = _dominant(_dominant(a, b, sign[j]), c, sign[j])
            first = weight(beta[j] * (a - most))
            second = weight(beta[j] * (b - most))
            third = weight(beta[j] * (c - most))
            top[j] = most
            S[j] = first + second + third
            A[j] = (first * a + second * b + third * c) / (first + second + third)
            D[j] = (first * (a - most) + second * (b - most) + third * (c - most)) / (first + second + third)


@body
def _forward(chunk, chunks, rowptr, source, place, x, edge, floor, eps, sign, beta, out, dominant, offset, total):
    """out = A / S and offset = out - dominant = D / S with S = sum w, A = sum w m, D = sum w (m - dominant),
    w = exp(beta (m - dominant)).

    Args:
        sign, beta: [channels], the sign of beta and beta.
        out, dominant, offset, total: [targets, channels]; ``total`` is S, ``dominant`` the largest m (smallest for
            beta < 0).
    """
    if chunk < 0:
        write_call(chunks)
        return
    x, edge = bare(x), bare(edge)
    source, place, sign, beta = bare(source), bare(place), bare(sign), bare(beta)
    channels = x.shape[1]
    edges = source.shape[0]
    ahead = lookahead(x, edges)
    kept = working_rows(x, channels)
    last = kept.shape[0] - 1
    room = working_row(x, channels)
    top = working_row(x, channels)
    S = working_row(x, channels)
    A = working_row(x, channels)
    D = working_row(x, channels)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[v], rowptr[v + 1]
        if ahead == edges and 0 < end - begin <= 3:
            _few(begin, end, source, place, x, edge, floor, eps, sign, beta, A, D, top, S, kept)
            for j in range(channels):
                out[v, j] = A[j]
                offset[v, j] = D[j]
                dominant[v, j] = top[j]
                total[v, j] = S[j]
            continue
        for j in range(channels):
            top[j] = -np.inf
            S[j] = 0
            A[j] = 0
            D[j] = 0
        for k in range(begin, end):
            m = kept[min(k - begin, last)]
            if k + ahead < edges:
                prefetch_row(x, source[k + ahead])
                prefetch_edge(edge, place[k + ahead])
            load_dominant(m, x, source[k], edge, place[k], floor, eps, sign, top, room)
        for j in range(channels):
            top[j] = sign[j] * top[j]
        for k in range(begin, end):
            m = kept[min(k - begin, last)]
            load_again(k - begin, last, m, x, source[k], edge, place[k], floor, eps, room)
            for j in range(channels):
                away = m[j] - top[j]
                w = weight(beta[j] * away)
                S[j] += w
                A[j] += w * m[j]
                D[j] += w * away
        if begin == end:
            for j in range(channels):
                top[j] = 0
                S[j] = 1
        for j in range(channels):
            out[v, j] = A[j] / S[j]
            offset[v, j] = D[j] / S[j]
            dominant[v, j] = top[j]
            total[v, j] = S[j]


forward = kernel(_forward)
