"""SoftMax_Agg on edges: each vertex shifts by its own dominant message, nothing edge-sized is stored.

Forward takes two passes over a neighbourhood, the dominant message first, then the sums. The first pass keeps the
messages it made as long as they fit the cache, so that the second rarely makes them again.
"""

import numpy as np
from numba import prange

from deepergcn.ops.kernels.compile import body, kernel
from deepergcn.ops.kernels.intrinsics import prefetch_row, working_row, working_rows
from deepergcn.ops.kernels.maths import weight
from deepergcn.ops.kernels.rows import AHEAD, chunk_begin, load, load_again, message, prefetch_edge


@body
def _forward(chunk, chunks, rowptr, source, place, x, edge, floor, eps, sign, beta, out, dominant, total):
    """out = A / S with S = sum w, A = sum w m, w = exp(beta (m - dominant)).

    Args:
        sign, beta: [channels], the sign of beta and beta.
        out, dominant, total: [targets, channels]; ``total`` is S, ``dominant`` the largest m (smallest for beta < 0).
    """
    channels = x.shape[1]
    edges = source.shape[0]
    kept = working_rows(x, channels)
    last = kept.shape[0] - 1
    top = working_row(x, channels)
    S = working_row(x, channels)
    A = working_row(x, channels)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[v], rowptr[v + 1]
        for j in range(channels):
            top[j] = -np.inf
            S[j] = 0
            A[j] = 0
        for k in range(begin, end):
            m = kept[min(k - begin, last)]
            if k + AHEAD < edges:
                prefetch_row(x, source[k + AHEAD])
                prefetch_edge(edge, place[k + AHEAD])
            load(m, x, source[k], edge, place[k])
            for j in range(channels):
                m[j] = message(m[j], floor, eps)
                z = sign[j] * m[j]
                top[j] = z if z > top[j] else top[j]
        for j in range(channels):
            top[j] = sign[j] * top[j]
        for k in range(begin, end):
            m = kept[min(k - begin, last)]
            load_again(k - begin, last, m, x, source[k], edge, place[k], floor, eps)
            for j in range(channels):
                w = weight(beta[j] * (m[j] - top[j]))
                S[j] += w
                A[j] += w * m[j]
        if begin == end:
            for j in range(channels):
                top[j] = 0
                S[j] = 1
        for j in range(channels):
            out[v, j] = A[j] / S[j]
            dominant[v, j] = top[j]
            total[v, j] = S[j]


@kernel(_forward)
def forward(chunks, rowptr, source, place, x, edge, floor, eps, sign, beta, out, dominant, total):
    for chunk in prange(chunks):
        _forward(np.intp(chunk), chunks, rowptr, source, place, x, edge, floor, eps, sign, beta, out, dominant, total)
