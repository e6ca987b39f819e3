"""SoftMax_Agg with a table of edge terms where nobody asks for gradients: what backward would need is not made.

The result is that of ``softmax.forward``, to rounding. Molecules have few neighbours, whose messages stay in registers;
a vertex with more than four takes two passes, which make every message twice rather than keep it.
"""

import numpy as np
from numba import njit

from deepergcn.ops.kernels.cpu.machine.intrinsics import bare, larger, row_of, working_row
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.maths import weight
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import chunk_begin, message


@njit(inline="always")
def _dominant(a, b, sign):
    return a if sign * a >= sign * b else b


@body
def _forward(chunk, chunks, rowptr, source, place, x, codes, table, floor, eps, sign, beta, out):
    """out = sum w m / sum w with w = exp(beta (m - dominant)), the dominant message the largest sign m.

    Args:
        codes, table: [edges] and [rows, channels], the edge term.
        sign, beta: [channels], the sign of beta and beta.
        out: [targets, channels].
    """
    if chunk < 0:
        write_call(chunks)
        return
    x, table, source, place, codes = bare(x), bare(table), bare(source), bare(place), bare(codes)
    sign, beta, out = bare(sign), bare(beta), bare(out)
    channels = x.shape[1]
    one = x.dtype.type(1)
    top = working_row(x, channels)
    S = working_row(x, channels)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[v], rowptr[v + 1]
        degree = end - begin
        result = row_of(out, v)
        if degree == 0:
            for j in range(channels):
                result[j] = 0
            continue
        last = end - 1
        a0, b0 = row_of(x, source[begin]), row_of(table, codes[place[begin]])
        if degree == 1:
            for j in range(channels):
                a = message(a0[j] + b0[j], floor, eps)
                result[j] = a + (a - a)  # NaN for a message that is not finite, as among others
            continue
        a1, b1 = row_of(x, source[begin + 1]), row_of(table, codes[place[begin + 1]])
        a2, b2 = row_of(x, source[last]), row_of(table, codes[place[last]])
        if degree == 2:
            for j in range(channels):
                a = message(a0[j] + b0[j], floor, eps)
                b = message(a1[j] + b1[j], floor, eps)
                first = sign[j] * a >= sign[j] * b
                most = a if first else b
                least = b if first else a
                share = weight(beta[j] * (least - most))
                result[j] = (most + share * least) / (one + share + (most - most))
        elif degree == 3:
            for j in range(channels):
                a = message(a0[j] + b0[j], floor, eps)
                b = message(a1[j] + b1[j], floor, eps)
                c = message(a2[j] + b2[j], floor, eps)
                most = _dominant(_dominant(a, b, sign[j]), c, sign[j])
                p, q, r = weight(beta[j] * (a - most)), weight(beta[j] * (b - most)), weight(beta[j] * (c - most))
                result[j] = (p * a + q * b + r * c) / (p + q + r)
        elif degree == 4:
            a3, b3 = row_of(x, source[begin + 2]), row_of(table, codes[place[begin + 2]])
            for j in range(channels):
                a = message(a0[j] + b0[j], floor, eps)
                b = message(a1[j] + b1[j], floor, eps)
                c = message(a3[j] + b3[j], floor, eps)
                d = message(a2[j] + b2[j], floor, eps)
                most = _dominant(_dominant(a, b, sign[j]), _dominant(c, d, sign[j]), sign[j])
                p, q = weight(beta[j] * (a - most)), weight(beta[j] * (b - most))
                r, s = weight(beta[j] * (c - most)), weight(beta[j] * (d - most))
                result[j] = (p * a + q * b + r * c + s * d) / (p + q + r + s)
        else:
            for j in range(channels):
                top[j] = -np.inf
                S[j] = 0
                result[j] = 0
            for k in range(begin, end):
                row, term = row_of(x, source[k]), row_of(table, codes[place[k]])
                for j in range(channels):
                    top[j] = larger(sign[j] * message(row[j] + term[j], floor, eps), top[j])
            for k in range(begin, end):
                row, term = row_of(x, source[k]), row_of(table, codes[place[k]])
                for j in range(channels):
                    m = message(row[j] + term[j], floor, eps)
                    w = weight(beta[j] * (m - sign[j] * top[j]))
                    S[j] += w
                    result[j] += w * m
            for j in range(channels):
                result[j] /= S[j]


forward = kernel(_forward)
