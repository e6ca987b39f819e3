"""SoftMax_Agg without edge features: every exponential is taken once a node, and the edges only add.

With one shift c a channel, and messages measured from an origin r, d_u = m_u - r and e_u = exp(beta (m_u - c)), a
vertex needs S_v = sum e_u and A_v = sum e_u d_u, and backward is a product with the transpose:

    offset_v = A_v / S_v = out_v - r      G_u = sum_v g_v / S_v      H_u = sum_v g_v offset_v / S_v
    dm_u = e_u [(1 + beta d_u) G_u - beta H_u]

The origin is the point nearest 0 between the smallest and the largest message of the channel, so that d is never larger
than m, and beta d never larger than the spread.

dout/dbeta is the variance of the messages of a vertex under its weights. It is taken in forward, where beta is learned,
by a second pass over the neighbours around the result of the first: a difference of sums over the nodes would cancel.
The second pass finds the rows of the first in the cache, unless the vertex is a hub.

The exponent is taken in float64, so that e has full float32 accuracy however far m_u lies from c. What forward reads
of a neighbour lies in pairs of rows, [nodes, 2, channels]: an index such as ``channels + j`` stops a loop from
vectorising.
"""

import numpy as np

from deepergcn.ops.kernels.cpu.machine.arrays import prefetch_pair, prefetch_row, working_row
from deepergcn.ops.kernels.cpu.machine.intrinsics import choose
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.maths import exp_of_double
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import FROM_CACHE, chunk_begin, lookahead, message


@body
def _spread(chunk, chunks, x, low, high):
    """The smallest and the largest x of every channel and chunk: ``low`` and ``high`` are [chunks, channels]."""
    if chunk < 0:
        write_call(chunks)
        return
    channels = x.shape[1]
    least = working_row(x, channels)
    most = working_row(x, channels)
    for j in range(channels):
        least[j] = np.inf
        most[j] = -np.inf
    for u in range(x.shape[0] * chunk // chunks, x.shape[0] * (chunk + 1) // chunks):
        for j in range(channels):
            h = x[u, j]
            least[j] = choose((h < least[j]) | (h != h), h, least[j])  # a NaN is taken and stays
            most[j] = choose((h > most[j]) | (h != h), h, most[j])
    for j in range(channels):
        low[chunk, j] = least[j]
        high[chunk, j] = most[j]


spread = kernel(_spread)


@body
def _exponentials(chunk, chunks, x, floor, eps, beta, shift, origin, powers):
    """powers = e and d, [sources, 2, channels]; ``shift`` is c and ``origin`` r."""
    if chunk < 0:
        write_call(chunks)
        return
    channels = x.shape[1]
    for u in range(x.shape[0] * chunk // chunks, x.shape[0] * (chunk + 1) // chunks):
        for j in range(channels):
            m = message(x[u, j], floor, eps)
            powers[u, 0, j] = exp_of_double(beta[j] * (m - shift[j]), m)
            powers[u, 1, j] = m - origin[j]


exponentials = kernel(_exponentials)


@body
def _forward(chunk, chunks, rowptr, source, origin, powers, out, offset, total, variance):
    """out = r + offset, offset = A / S and total = S for every target.

    ``variance``, where it has rows, becomes sum w (d - offset)^2 with w = e / S, less the square of sum w (d - offset),
    which is what the rounding of the offset leaves.
    """
    if chunk < 0:
        write_call(chunks)
        return
    channels = out.shape[1]
    edges = source.shape[0]
    ahead = lookahead(powers, edges)
    one = out.dtype.type(1)
    S = working_row(powers, channels)
    A = working_row(powers, channels)
    first = working_row(powers, channels)
    second = working_row(powers, channels)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[v], rowptr[v + 1]
        for j in range(channels):
            S[j] = 0
            A[j] = 0
        for k in range(begin, end):
            u = source[k]
            if k + ahead < edges:
                prefetch_pair(powers, source[k + ahead])
            for j in range(channels):
                S[j] += powers[u, 0, j]
                A[j] += powers[u, 0, j] * powers[u, 1, j]
        if begin == end:
            for j in range(channels):
                out[v, j] = 0
                offset[v, j] = 0
                total[v, j] = 1
            if variance.shape[0]:
                for j in range(channels):
                    variance[v, j] = 0
            continue
        for j in range(channels):
            total[v, j] = S[j]
            S[j] = one / S[j]
            A[j] = A[j] / total[v, j]
            offset[v, j] = A[j]
            out[v, j] = origin[j] + A[j]
        if variance.shape[0]:
            for j in range(channels):
                first[j] = 0
                second[j] = 0
            again = end - ahead if end - begin > FROM_CACHE else begin
            for k in range(begin, end):
                u = source[k]
                if k < again:
                    prefetch_pair(powers, source[k + ahead])
                for j in range(channels):
                    away = powers[u, 1, j] - A[j]
                    push = powers[u, 0, j] * S[j] * away
                    first[j] += push
                    second[j] += push * away
            for j in range(channels):
                variance[v, j] = second[j] - first[j] * first[j]


forward = kernel(_forward)


@body
def _backward(chunk, chunks, rowptr, target, x, floor, eps, beta, slope, shift, origin, share, product, dx):
    """dx for every source; share = g / S and product = g offset / S.

    ``slope`` is beta, 0 for the semi-gradient.
    """
    if chunk < 0:
        write_call(chunks)
        return
    channels = x.shape[1]
    edges = target.shape[0]
    ahead = lookahead(x, edges)
    G = working_row(x, channels)
    H = working_row(x, channels)
    zero = x.dtype.type(0)  # a bare 0 would take the line to float64
    for u in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        for j in range(channels):
            G[j] = 0
            H[j] = 0
        for k in range(rowptr[u], rowptr[u + 1]):
            v = target[k]
            if k + ahead < edges:
                prefetch_row(share, target[k + ahead])
                prefetch_row(product, target[k + ahead])
            for j in range(channels):
                G[j] += share[v, j]
                H[j] += product[v, j]
        for j in range(channels):
            m = message(x[u, j], floor, eps)
            e = exp_of_double(beta[j] * (m - shift[j]), m)
            away = (m - origin[j]) * G[j] - H[j]
            dx[u, j] = zero if x[u, j] <= floor else e * (G[j] + slope[j] * away)


backward = kernel(_backward)
