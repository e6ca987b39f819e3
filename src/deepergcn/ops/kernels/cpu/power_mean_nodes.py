"""PowerMean_Agg without edge features: every power is taken once a node, and the edges only add.

With c the dominant message of the channel, l_u = ln(m_u / c) and e_u = exp(p l_u), a vertex needs S_v = sum e_u, which
is one sparse product; backward is one with the transpose:

    M_v = ln(S_v / n_v) / p      out_v = c exp(M_v)      dm_u = e_u c / m_u sum_v g_v (out_v / c) / S_v

Where p is learned, a second pass over the neighbours adds up the slope, whose terms are never negative (power_mean.py):

    dM_v/dp = mean_u (t e^t - e^t + 1) / p^2      t = p (l_u - M_v)      e^t = e_u n_v / S_v

Logarithms of powers are kept in float64, so that M has full float32 accuracy however far the vertex lies from c. The
division by p makes this the path of powers that are not small.
"""

from deepergcn.ops.kernels.cpu.machine.arrays import prefetch_pair, prefetch_row, working_row
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.maths import excess_of, exp_of_double, log_in_double
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import FROM_CACHE, chunk_begin, lookahead, message


@body
def _powers(chunk, chunks, x, floor, eps, p, shift, powers):
    """powers = e and, where it has room for it, l: [sources, 1 or 2, channels]; ``shift`` is c."""
    if chunk < 0:
        write_call(chunks)
        return
    for u in range(x.shape[0] * chunk // chunks, x.shape[0] * (chunk + 1) // chunks):
        if powers.shape[1] == 1:
            for j in range(x.shape[1]):
                ratio = message(x[u, j], floor, eps) / shift[j]
                powers[u, 0, j] = exp_of_double(p[j] * log_in_double(ratio), ratio)
        else:
            for j in range(x.shape[1]):
                ratio = message(x[u, j], floor, eps) / shift[j]
                away = log_in_double(ratio)
                powers[u, 0, j] = exp_of_double(p[j] * away, ratio)
                powers[u, 1, j] = away


powers_of = kernel(_powers)


@body
def _forward(chunk, chunks, rowptr, source, powers, p, shift, out, relative, total, slope):
    """out = c exp(M), relative = exp(M), total = S for every target; ``slope``, where it has rows, becomes dout/dp."""
    if chunk < 0:
        write_call(chunks)
        return
    channels = out.shape[1]
    edges = source.shape[0]
    ahead = lookahead(powers, edges)
    one = out.dtype.type(1)
    S = working_row(powers, channels)
    Q = working_row(powers, channels)
    M = working_row(powers, channels)
    strength = working_row(powers, channels)
    for j in range(channels):
        strength[j] = p[j]
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        degree = rowptr[v + 1] - rowptr[v]
        if degree == 0:
            for j in range(channels):
                total[v, j] = one
                relative[v, j] = one
                out[v, j] = 0
            if slope.shape[0]:
                for j in range(channels):
                    slope[v, j] = 0
            continue
        for j in range(channels):
            S[j] = 0
            Q[j] = 0
        for k in range(rowptr[v], rowptr[v + 1]):
            u = source[k]
            if k + ahead < edges:
                prefetch_pair(powers, source[k + ahead])
            for j in range(channels):
                S[j] += powers[u, 0, j]
        share = one / out.dtype.type(degree)
        for j in range(channels):
            total[v, j] = S[j]
            mean = log_in_double(S[j] * share) / p[j]
            M[j] = mean
            relative[v, j] = exp_of_double(mean, share)
            out[v, j] = shift[j] * relative[v, j]
            S[j] = one / (S[j] * share)
        if slope.shape[0]:
            again = rowptr[v + 1] - ahead if degree > FROM_CACHE else rowptr[v]
            for k in range(rowptr[v], rowptr[v + 1]):
                u = source[k]
                if k < again:
                    prefetch_pair(powers, source[k + ahead])
                for j in range(channels):
                    Q[j] += excess_of(strength[j] * (powers[u, 1, j] - M[j]), powers[u, 0, j] * S[j])
            for j in range(channels):
                slope[v, j] = out[v, j] * (Q[j] * share / (p[j] * p[j]))


forward = kernel(_forward)


@body
def _backward(chunk, chunks, rowptr, target, x, floor, eps, p, shift, shares, dx):
    """dx for every source, from shares = g (out / c) / S, [targets, channels]."""
    if chunk < 0:
        write_call(chunks)
        return
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
            ratio = message(x[u, j], floor, eps) / shift[j]
            e = exp_of_double(p[j] * log_in_double(ratio), ratio)
            dx[u, j] = zero if x[u, j] <= floor else G[j] * e / ratio


backward = kernel(_backward)
