"""SoftMax_Agg on edges: each vertex shifts by its own dominant message, nothing edge-sized is stored.

What backward needs is how far a message lies from the result, which the difference of the two would lose where they are
large or beta is: it keeps the dominant message and the result's distance from it, to which every digit is known.

Forward takes two passes over a neighbourhood, the dominant message first, then the sums. The first pass keeps the
messages it made as long as they fit the cache, so that the second rarely makes them again. A vertex with up to three
in-edges in a small graph, as most atoms are, takes one pass with all its messages in registers: a quarter less time.
"""

import numpy as np
from numba import njit, prange
from numba.extending import overload

from deepergcn.ops.kernels.cpu.intrinsics import prefetch_row, working_row, working_rows
from deepergcn.ops.kernels.cpu.jit import OPTIONS, body, kernel
from deepergcn.ops.kernels.cpu.maths import weight
from deepergcn.ops.kernels.cpu.rows import (
    chunk_begin,
    edge_row,
    edge_value,
    is_elementwise,
    load_again,
    load_dominant,
    lookahead,
    message,
    prefetch_edge,
)


@njit(inline="always")
def _dominant(a, b, sign):
    return a if sign * a >= sign * b else b


def _few(begin, end, source, place, x, edge, floor, eps, sign, beta, A, D, top, S):
    """The result, its distance from the dominant message, that message and S of a vertex with one to three in-edges;
    False where it has not done it.
    """
    raise NotImplementedError


@overload(_few, jit_options=OPTIONS, inline="always")
def _few_of(begin, end, source, place, x, edge, floor, eps, sign, beta, A, D, top, S):
    if not is_elementwise(edge):
        return lambda begin, end, source, place, x, edge, floor, eps, sign, beta, A, D, top, S: False

    def few(begin, end, source, place, x, edge, floor, eps, sign, beta, A, D, top, S):
        degree = end - begin
        if degree < 1 or degree > 3:
            return False
        one = x.dtype.type(1)
        u, e = source[begin], edge_row(edge, place[begin])
        v, f = source[min(begin + 1, end - 1)], edge_row(edge, place[min(begin + 1, end - 1)])
        w, g = source[end - 1], edge_row(edge, place[end - 1])
        if degree == 1:
            for j in range(x.shape[1]):
                a = message(edge_value(x, u, edge, e, j), floor, eps)
                top[j] = a
                D[j] = a - a  # NaN for a message that is not finite, as among others
                A[j] = a + D[j]
                S[j] = one
        elif degree == 2:
            for j in range(x.shape[1]):
                a = message(edge_value(x, u, edge, e, j), floor, eps)
                b = message(edge_value(x, v, edge, f, j), floor, eps)
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
                a = message(edge_value(x, u, edge, e, j), floor, eps)
                b = message(edge_value(x, v, edge, f, j), floor, eps)
                c = message(edge_value(x, w, edge, g, j), floor, eps)
                most = _dominant(_dominant(a, b, sign[j]), c, sign[j])
                first = weight(beta[j] * (a - most))
                second = weight(beta[j] * (b - most))
                third = weight(beta[j] * (c - most))
                top[j] = most
                S[j] = first + second + third
                A[j] = (first * a + second * b + third * c) / (first + second + third)
                D[j] = (first * (a - most) + second * (b - most) + third * (c - most)) / (first + second + third)
        return True

    return few


@body
def _forward(chunk, chunks, rowptr, source, place, x, edge, floor, eps, sign, beta, out, dominant, offset, total):
    """out = A / S and offset = out - dominant = D / S with S = sum w, A = sum w m, D = sum w (m - dominant),
    w = exp(beta (m - dominant)).

    Args:
        sign, beta: [channels], the sign of beta and beta.
        out, dominant, offset, total: [targets, channels]; ``total`` is S, ``dominant`` the largest m (smallest for
            beta < 0).
    """
    channels = x.shape[1]
    edges = source.shape[0]
    ahead = lookahead(x, edges)
    kept = working_rows(x, channels)
    last = kept.shape[0] - 1
    top = working_row(x, channels)
    S = working_row(x, channels)
    A = working_row(x, channels)
    D = working_row(x, channels)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[v], rowptr[v + 1]
        if ahead == edges and _few(begin, end, source, place, x, edge, floor, eps, sign, beta, A, D, top, S):
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
            load_dominant(m, x, source[k], edge, place[k], floor, eps, sign, top)
        for j in range(channels):
            top[j] = sign[j] * top[j]
        for k in range(begin, end):
            m = kept[min(k - begin, last)]
            load_again(k - begin, last, m, x, source[k], edge, place[k], floor, eps)
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


@kernel(_forward)
def forward(chunks, rowptr, source, place, x, edge, floor, eps, sign, beta, out, dominant, offset, total):
    for chunk in prange(chunks):
        _forward(
            np.intp(chunk), chunks, rowptr, source, place, x, edge, floor, eps, sign, beta, out, dominant, offset, total
        )
