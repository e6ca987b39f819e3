"""What every kernel shares: chunks of vertices with equal work, and the message of one edge, a row at a time.

The edge term comes in one of three shapes, told apart by type when a kernel is compiled:

    ()                        none
    (codes, rows)             row ``codes[e]`` of a table; a dense edge term is a table with a row for every edge
    (features, weight, bias)  features[e] @ weight + bias, with weight [K, channels]
"""

import numpy as np
from numba import njit
from numba.extending import overload

from deepergcn.ops.kernels.cpu.intrinsics import fma, larger, prefetch_item, prefetch_row

_AHEAD = 8  # edges between asking memory for a row and using it
_NEAR = 1 << 21  # numbers that lie near enough in the processor's caches
FROM_CACHE = 256  # neighbours whose rows are still in the cache after a first pass over them
TOGETHER = 4  # edges whose gradients are added at once: an affine edge term has as many sums as features
FLUSH = 64  # edges or vertices whose float32 sums are added into float64 at once

_TABLE, _AFFINE = 2, 3


@njit(inline="always")
def chunk_begin(rowptr, chunk, chunks):
    """First vertex of a chunk: the chunks hold equal numbers of vertices plus edges."""
    vertices = rowptr.shape[0] - 1
    if chunk >= chunks:
        return vertices
    wanted = (np.int64(rowptr[vertices]) + vertices) * chunk // chunks
    low, high = 0, vertices
    while low < high:
        middle = (low + high) // 2
        if np.int64(rowptr[middle]) + middle < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def lookahead(x, edges):
    """How many edges ahead to ask for a row of ``x`` or an edge's features: never for a graph that is small."""
    return _AHEAD if x.size + 8 * edges > _NEAR else edges


@njit(inline="always")
def message(h, floor, eps):
    """ReLU(h) + eps with ``floor`` 0, h + eps with ``floor`` NaN, below which nothing lies; NaN stays NaN."""
    return (floor if h <= floor else h) + eps


def prefetch_edge(edge, e):
    """Ask for what the edge term of edge ``e`` is made from."""
    raise NotImplementedError


@overload(prefetch_edge)
def _prefetch_edge(edge, e):
    if len(edge) == _TABLE:
        return lambda edge, e: prefetch_item(edge[0], e)
    if len(edge) == _AFFINE:
        return lambda edge, e: prefetch_row(edge[0], e)
    return lambda edge, e: None


def load(h, x, u, edge, e):
    """h = h_u + h_e for edge ``e`` from source ``u``; bit for bit the same in every kernel."""
    raise NotImplementedError


@overload(load)
def _load(h, x, u, edge, e):
    if len(edge) == _TABLE:

        def table(h, x, u, edge, e):
            codes, rows = edge
            code = codes[e]
            for j in range(h.shape[0]):
                h[j] = x[u, j] + rows[code, j]

        return table
    if len(edge) == _AFFINE:

        def affine(h, x, u, edge, e):
            features, weight, bias = edge
            count = features.shape[1]
            done = 0
            if count >= 8:
                a, b, c, d = features[e, 0], features[e, 1], features[e, 2], features[e, 3]
                p, q, r, t = features[e, 4], features[e, 5], features[e, 6], features[e, 7]
                for j in range(h.shape[0]):
                    s = fma(a, weight[0, j], x[u, j] + bias[j])
                    s = fma(b, weight[1, j], s)
                    s = fma(c, weight[2, j], s)
                    s = fma(d, weight[3, j], s)
                    s = fma(p, weight[4, j], s)
                    s = fma(q, weight[5, j], s)
                    s = fma(r, weight[6, j], s)
                    h[j] = fma(t, weight[7, j], s)
                done = 8
            elif count >= 4:
                a, b, c, d = features[e, 0], features[e, 1], features[e, 2], features[e, 3]
                for j in range(h.shape[0]):
                    s = fma(a, weight[0, j], x[u, j] + bias[j])
                    s = fma(b, weight[1, j], s)
                    s = fma(c, weight[2, j], s)
                    h[j] = fma(d, weight[3, j], s)
                done = 4
            else:
                for j in range(h.shape[0]):
                    h[j] = x[u, j] + bias[j]
            while done + 3 <= count:
                a, b, c = features[e, done], features[e, done + 1], features[e, done + 2]
                for j in range(h.shape[0]):
                    s = fma(a, weight[done, j], h[j])
                    s = fma(b, weight[done + 1, j], s)
                    h[j] = fma(c, weight[done + 2, j], s)
                done += 3
            if done + 2 == count:
                a, b = features[e, done], features[e, done + 1]
                for j in range(h.shape[0]):
                    h[j] = fma(b, weight[done + 1, j], fma(a, weight[done, j], h[j]))
            elif done + 1 == count:
                a = features[e, done]
                for j in range(h.shape[0]):
                    h[j] = fma(a, weight[done, j], h[j])

        return affine

    def none(h, x, u, edge, e):
        for j in range(h.shape[0]):
            h[j] = x[u, j]

    return none


def load_dominant(m, x, u, edge, e, floor, eps, sign, top):
    """The messages of an edge into ``m``, and the larger of sign m and ``top`` into ``top``."""
    raise NotImplementedError


@njit(inline="always")
def _load_then_dominant(m, x, u, edge, e, floor, eps, sign, top):
    load(m, x, u, edge, e)
    for j in range(m.shape[0]):
        m[j] = message(m[j], floor, eps)
        top[j] = larger(sign[j] * m[j], top[j])


@overload(load_dominant)
def _load_dominant(m, x, u, edge, e, floor, eps, sign, top):
    if len(edge) != _AFFINE:
        return lambda m, x, u, edge, e, floor, eps, sign, top: _load_then_dominant(
            m, x, u, edge, e, floor, eps, sign, top
        )

    def affine(m, x, u, edge, e, floor, eps, sign, top):
        features, weight, bias = edge
        if features.shape[1] == 8:
            a, b, c, d = features[e, 0], features[e, 1], features[e, 2], features[e, 3]
            p, q, r, t = features[e, 4], features[e, 5], features[e, 6], features[e, 7]
            for j in range(m.shape[0]):
                s = fma(a, weight[0, j], x[u, j] + bias[j])
                s = fma(b, weight[1, j], s)
                s = fma(c, weight[2, j], s)
                s = fma(d, weight[3, j], s)
                s = fma(p, weight[4, j], s)
                s = fma(q, weight[5, j], s)
                s = fma(r, weight[6, j], s)
                s = message(fma(t, weight[7, j], s), floor, eps)
                m[j] = s
                z = sign[j] * s
                top[j] = larger(z, top[j])
        else:
            _load_then_dominant(m, x, u, edge, e, floor, eps, sign, top)

    return affine


def is_elementwise(edge):
    """Whether the edge term, given its type, can be had one channel at a time: ``edge_value`` then is ``load``'s h."""
    return len(edge) != _AFFINE


def edge_row(edge, e):
    """The row of the table that edge ``e`` takes."""
    raise NotImplementedError


@overload(edge_row, inline="always")
def _edge_row(edge, e):
    if len(edge) == _TABLE:
        return lambda edge, e: edge[0][e]
    return lambda edge, e: 0


def edge_value(x, u, edge, row, j):
    """h_u + h_e in channel ``j``."""
    raise NotImplementedError


@overload(edge_value, inline="always")
def _edge_value(x, u, edge, row, j):
    if len(edge) == _TABLE:
        return lambda x, u, edge, row, j: x[u, j] + edge[1][row, j]
    return lambda x, u, edge, row, j: x[u, j]


@njit(inline="always")
def load_again(position, last, m, x, u, edge, e, floor, eps):
    """Make the messages that did not fit the kept rows a second time."""
    if position >= last:
        load(m, x, u, edge, e)
        for j in range(m.shape[0]):
            m[j] = message(m[j], floor, eps)


def add_edge_gradients(dh, count, edge, place, k, table_sums, sums):
    """Add the gradients of h_e, ``dh``, of the last ``count`` edges before ``k`` to what they belong to.

    Args:
        dh: [TOGETHER, channels].
        count: at most TOGETHER.
        place: where in the given order the edges stand.
        table_sums: [rows, channels] of this chunk (a dense edge term: of all edges), used by a table alone.
        sums: [K, channels], the gradient of weight, used by an affine edge term alone.
    """
    raise NotImplementedError


@overload(add_edge_gradients)
def _add_edge_gradients(dh, count, edge, place, k, table_sums, sums):
    if len(edge) == _TABLE:

        def table(dh, count, edge, place, k, table_sums, sums):
            for i in range(count):
                code = edge[0][place[k - count + i]]
                for j in range(dh.shape[1]):
                    table_sums[code, j] += dh[i, j]

        return table
    if len(edge) == _AFFINE:

        def affine(dh, count, edge, place, k, table_sums, sums):
            features = edge[0]
            if count == TOGETHER:
                a, b, c, d = place[k - 4], place[k - 3], place[k - 2], place[k - 1]
                for f in range(features.shape[1]):
                    p, q, r, t = features[a, f], features[b, f], features[c, f], features[d, f]
                    for j in range(dh.shape[1]):
                        s = fma(p, dh[0, j], sums[f, j])
                        s = fma(q, dh[1, j], s)
                        s = fma(r, dh[2, j], s)
                        sums[f, j] = fma(t, dh[3, j], s)
            else:
                for i in range(count):
                    for f in range(features.shape[1]):
                        p = features[place[k - count + i], f]
                        for j in range(dh.shape[1]):
                            sums[f, j] = fma(p, dh[i, j], sums[f, j])

        return affine

    def none(dh, count, edge, place, k, table_sums, sums):
        pass

    return none


@njit(inline="always")
def flush(sums, totals):
    """Move float32 sums of a few edges or vertices into the float64 totals of the chunk."""
    for k in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            totals[k, j] += sums[k, j]
            sums[k, j] = 0
