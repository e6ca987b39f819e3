"""PowerMean_Agg without edge features: every power is taken once a node, and the edges only add.

With c the dominant message of the channel, l_u = ln(m_u / c) and e_u = exp(p l_u), a vertex needs S_v = sum e_u alone,
and T_v = sum e_u l_u where p is learned, which is one sparse product; backward is one with the transpose:

    M_v = ln(S_v / n_v) / p      out_v = c exp(M_v)      dM_v/dp = (T_v / S_v - M_v) / p
    dm_u = e_u / m_u sum_v g_v out_v / S_v

Logarithms of powers are kept in float64, so that M has full float32 accuracy however far the vertex lies from c. The
division by p makes this the path of powers that are not small.
"""

import numpy as np
from numba import prange

from deepergcn.ops.kernels.cpu.intrinsics import prefetch_row, working_row
from deepergcn.ops.kernels.cpu.jit import body, kernel
from deepergcn.ops.kernels.cpu.maths import exp_of_double, log_in_double
from deepergcn.ops.kernels.cpu.rows import chunk_begin, lookahead, message


@body
def _powers(chunk, chunks, x, floor, eps, p, shift, powers):
    """powers = e and, where it has room for it, e l: [sources, 1 or 2, channels]; ``shift`` is c."""
    for u in range(x.shape[0] * chunk // chunks, x.shape[0] * (chunk + 1) // chunks):
        if powers.shape[1] == 1:
            for j in range(x.shape[1]):
                ratio = message(x[u, j], floor, eps) / shift[j]
                powers[u, 0, j] = exp_of_double(p[j] * log_in_double(ratio), ratio)
        else:
            for j in range(x.shape[1]):
                ratio = message(x[u, j], floor, eps) / shift[j]
                away = log_in_double(ratio)
                e = exp_of_double(p[j] * away, ratio)
                powers[u, 0, j] = e
                powers[u, 1, j] = e * away


@kernel(_powers)
def powers_of(chunks, x, floor, eps, p, shift, powers):
    for chunk in prange(chunks):
        _powers(np.intp(chunk), chunks, x, floor, eps, p, shift, powers)


@body
def _finish(chunk, chunks, rowptr, p, shift, total, out, slope):
    """out = c exp(M) for every target, from total = S; ``slope``, where it has rows, holds T / S and becomes dM/dp."""
    channels = out.shape[1]
    one = out.dtype.type(1)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        degree = rowptr[v + 1] - rowptr[v]
        if degree == 0:
            for j in range(channels):
                total[v, j] = one
                out[v, j] = 0
            continue
        share = one / out.dtype.type(degree)
        for j in range(channels):
            M = log_in_double(total[v, j] * share) / p[j]
            out[v, j] = shift[j] * exp_of_double(M, share)
        if slope.shape[0]:
            for j in range(channels):
                slope[v, j] = (slope[v, j] - log_in_double(total[v, j] * share) / p[j]) / p[j]


@kernel(_finish)
def finish(chunks, rowptr, p, shift, total, out, slope):
    for chunk in prange(chunks):
        _finish(np.intp(chunk), chunks, rowptr, p, shift, total, out, slope)


@body
def _backward(chunk, chunks, rowptr, target, x, floor, eps, p, shift, shares, dx):
    """dx for every source, from shares = g out / S."""
    channels = x.shape[1]
    edges = target.shape[0]
    ahead = lookahead(shares, edges)
    zero = x.dtype.type(0)
    G = working_row(x, channels)
    for u in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        for j in range(channels):
            G[j] = 0
        for k in range(rowptr[u], rowptr[u + 1]):
            v = target[k]
            if k + ahead < edges:
                prefetch_row(shares, target[k + ahead])
            for j in range(channels):
                G[j] += shares[v, j]
        for j in range(channels):
            m = message(x[u, j], floor, eps)
            e = exp_of_double(p[j] * log_in_double(m / shift[j]), m)
            dx[u, j] = zero if x[u, j] <= floor else G[j] * e / m


@kernel(_backward)
def backward(chunks, rowptr, target, x, floor, eps, p, shift, shares, dx):
    for chunk in prange(chunks):
        _backward(np.intp(chunk), chunks, rowptr, target, x, floor, eps, p, shift, shares, dx)
