"""PowerMean_Agg through logarithms: m* exp(M) with m* the vertex's dominant message, d = ln(m / m*) and
M = ln(mean exp(p d)) / p. As p d <= 0 nothing overflows; as the mean is also kept less 1, p may come as near 0 as one
likes.

The slope in p is a mean of terms that are never negative, so that it has no cancellation either:

    dM/dp = mean_u (d_u - M)^2 psi(p (d_u - M)),   psi(t) = (t e^t - e^t + 1) / t^2
"""

import numpy as np

from deepergcn.ops.kernels.cpu.machine.arrays import bare, prefetch_row, working_row, working_rows
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.maths import excess, exp_pair, log, log1p, root_of_exp
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import chunk_begin, load_again, load_dominant, lookahead, prefetch_edge


@body
def _forward(chunk, chunks, rowptr, source, place, x, edge, floor, eps, sign, p, out, relative, dominant, total, slope):
    """out = m* exp(M) and relative = exp(M) for every target.

    Args:
        sign, p: [channels]; p is not 0 but may be as small as 1e-20, which stands for the geometric mean.
        out, relative, dominant, total: [targets, channels]; ``dominant`` is m*, ``total`` is S = sum exp(p d).
        slope: [targets, channels], dout/dp = out dM/dp; no rows where nobody asks for it.
    """
    if chunk < 0:
        write_call(chunks)
        return
    x, edge = bare(x), bare(edge)
    source, place, sign, p = bare(source), bare(place), bare(sign), bare(p)
    channels = x.shape[1]
    edges = source.shape[0]
    ahead = lookahead(x, edges)
    kept = working_rows(x, channels)
    last = kept.shape[0] - 1
    room = working_row(x, channels)
    top = working_row(x, channels)
    S = working_row(x, channels)
    Q = working_row(x, channels)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[v], rowptr[v + 1]
        if begin == end:
            for j in range(channels):
                out[v, j] = 0
                relative[v, j] = 1
                dominant[v, j] = 1
                total[v, j] = 1
            if slope.shape[0]:
                for j in range(channels):
                    slope[v, j] = 0
            continue
        for j in range(channels):
            top[j] = -np.inf
            S[j] = 0
            Q[j] = 0
        for k in range(begin, end):
            m = kept[min(k - begin, last)]
            if k + ahead < edges:
                prefetch_row(x, source[k + ahead])
                prefetch_edge(edge, place[k + ahead])
            load_dominant(m, x, source[k], edge, place[k], floor, eps, sign, top, room)
        for j in range(channels):
            top[j] = sign[j] * top[j]
        for k in range(begin, end):
            d = kept[min(k - begin, last)]
            load_again(k - begin, last, d, x, source[k], edge, place[k], floor, eps, room)
            for j in range(channels):
                d[j] = log(d[j] / top[j])
                power, less_one = exp_pair(p[j] * d[j])
                S[j] += power
                Q[j] += less_one
        share = x.dtype.type(1) / x.dtype.type(end - begin)
        for j in range(channels):
            total[v, j] = S[j]
            dominant[v, j] = top[j]
            q = Q[j] * share
            around_one = q > -0.5
            near = log1p(q if around_one else x.dtype.type(0))
            far = log(S[j] * share)
            S[j] = (near if around_one else far) / p[j]
            root = root_of_exp(S[j])
            relative[v, j] = root * root
            out[v, j] = top[j] * root * root
        if slope.shape[0]:
            for j in range(channels):
                Q[j] = 0
            for k in range(begin, end):
                d = kept[min(k - begin, last)]
                load_again(k - begin, last, d, x, source[k], edge, place[k], floor, eps, room)
                if k - begin >= last:
                    for j in range(channels):
                        d[j] = log(d[j] / top[j])
                for j in range(channels):
                    away = d[j] - S[j]
                    Q[j] += away * away * excess(p[j] * away)
            for j in range(channels):
                slope[v, j] = out[v, j] * (Q[j] * share)


forward = kernel(_forward)
