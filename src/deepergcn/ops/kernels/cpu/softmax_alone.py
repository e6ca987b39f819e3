"""SoftMax_Agg with a table of edge terms where nobody asks for gradients: what backward would need is not made.

The result is that of ``softmax.forward``, to rounding. Molecules have few neighbours, whose messages stay in registers;
a vertex with more than four takes two passes, which make every message twice rather than keep it.

In the same pass a row of its graph, such as that of a virtual node, is added to what every vertex says, and the vertex
itself to what it hears: each would be a pass over all features otherwise.
"""

import numpy as np
from numba import njit

from deepergcn.ops.kernels.cpu.machine.arrays import bare, either, row_of, working_row
from deepergcn.ops.kernels.cpu.machine.intrinsics import larger
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.maths import weight
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import chunk_begin, message


@njit(inline="always")
def _dominant(a, b, sign):
    return a if sign * a >= sign * b else b


@body
def _forward(chunk, chunks, rowptr, source, place, x, codes, table, told, graph, own, floor, eps, sign, beta, out):
    """out = own h_v + sum w m / sum w with w = exp(beta (m - dominant)), the dominant message the largest sign m.

    The features are h_u = x_u + told_g for a vertex of graph g.

    Args:
        codes, table: [edges] and [rows, channels], the edge term.
        told, graph: [graphs, channels] and [sources], the graph of every vertex.
        own: whether h_v is added, which takes as many targets as sources.
        sign, beta: [channels], the sign of beta and beta.
        out: [targets, channels].
    """
    if chunk < 0:
        write_call(chunks)
        return
    x, table, source, place, codes = bare(x), bare(table), bare(source), bare(place), bare(codes)
    sign, beta, out, told, graph = bare(sign), bare(beta), bare(out), bare(told), bare(graph)
    channels = x.shape[1]
    one = x.dtype.type(1)
    top = working_row(x, channels)
    S = working_row(x, channels)
    A = working_row(x, channels)
    nothing = working_row(x, channels)
    for j in range(channels):
        nothing[j] = 0
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[v], rowptr[v + 1]
        degree = end - begin
        result = row_of(out, v)
        h = either(own, row_of(x, v), nothing)
        k = either(own, row_of(told, graph[v if own else 0]), nothing)
        if degree == 0:
            for j in range(channels):
                result[j] = h[j] + k[j]
            continue
        u0, u2 = source[begin], source[end - 1]
        a0, t0, b0 = row_of(x, u0), row_of(told, graph[u0]), row_of(table, codes[place[begin]])
        if degree == 1:
            for j in range(channels):
                a = message(a0[j] + t0[j] + b0[j], floor, eps)
                result[j] = h[j] + k[j] + (a + (a - a))  # NaN for a message that is not finite, as among others
            continue
        u1 = source[begin + 1]
        a1, t1, b1 = row_of(x, u1), row_of(told, graph[u1]), row_of(table, codes[place[begin + 1]])
        a2, t2, b2 = row_of(x, u2), row_of(told, graph[u2]), row_of(table, codes[place[end - 1]])
        if degree == 2:
            for j in range(channels):
                a = message(a0[j] + t0[j] + b0[j], floor, eps)
                b = message(a1[j] + t1[j] + b1[j], floor, eps)
                first = sign[j] * a >= sign[j] * b
                most = a if first else b
                least = b if first else a
                share = weight(beta[j] * (least - most))
                result[j] = h[j] + k[j] + (most + share * least) / (one + share + (most - most))
        elif degree == 3:
            for j in range(channels):
                a = message(a0[j] + t0[j] + b0[j], floor, eps)
                b = message(a1[j] + t1[j] + b1[j], floor, eps)
                c = message(a2[j] + t2[j] + b2[j], floor, eps)
                most = _dominant(_dominant(a, b, sign[j]), c, sign[j])
                p, q, r = weight(beta[j] * (a - most)), weight(beta[j] * (b - most)), weight(beta[j] * (c - most))
                result[j] = h[j] + k[j] + (p * a + q * b + r * c) / (p + q + r)
        elif degree == 4:
            u3 = source[begin + 2]
            a3, t3, b3 = row_of(x, u3), row_of(told, graph[u3]), row_of(table, codes[place[begin + 2]])
            for j in range(channels):
                a = message(a0[j] + t0[j] + b0[j], floor, eps)
                b = message(a1[j] + t1[j] + b1[j], floor, eps)
                c = message(a3[j] + t3[j] + b3[j], floor, eps)
                d = message(a2[j] + t2[j] + b2[j], floor, eps)
                most = _dominant(_dominant(a, b, sign[j]), _dominant(c, d, sign[j]), sign[j])
                p, q = weight(beta[j] * (a - most)), weight(beta[j] * (b - most))
                r, s = weight(beta[j] * (c - most)), weight(beta[j] * (d - most))
                result[j] = h[j] + k[j] + (p * a + q * b + r * c + s * d) / (p + q + r + s)
        else:
            for j in range(channels):
                top[j] = -np.inf
                S[j] = 0
                A[j] = 0
            for e in range(begin, end):
                row, t, term = row_of(x, source[e]), row_of(told, graph[source[e]]), row_of(table, codes[place[e]])
                for j in range(channels):
                    top[j] = larger(sign[j] * message(row[j] + t[j] + term[j], floor, eps), top[j])
            for e in range(begin, end):
                row, t, term = row_of(x, source[e]), row_of(told, graph[source[e]]), row_of(table, codes[place[e]])
                for j in range(channels):
                    m = message(row[j] + t[j] + term[j], floor, eps)
                    w = weight(beta[j] * (m - sign[j] * top[j]))
                    S[j] += w
                    A[j] += w * m
            for j in range(channels):
                result[j] = h[j] + k[j] + A[j] / S[j]


forward = kernel(_forward)
