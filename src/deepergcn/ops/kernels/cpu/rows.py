"""What every kernel shares: chunks of vertices with equal work, and the message of one edge, a row at a time.

The edge term comes in one of three shapes, told apart by type when a kernel is compiled:

    ()                        none
    (codes, rows)             row ``codes[e]`` of a table; a dense edge term is a table with a row for every edge
    (features, weight, bias)  features[e] @ weight + bias, with weight [K, channels], and rows of 0 up to ``AT_ONCE``
"""

import numpy as np
from numba import njit
from numba.extending import overload

from deepergcn.ops.kernels.cpu.machine.arrays import (
    AT_ONCE,
    add_products,
    either,
    first_numbers,
    prefetch_item,
    prefetch_row,
    row_of,
)
from deepergcn.ops.kernels.cpu.machine.intrinsics import fma, larger
from deepergcn.ops.kernels.cpu.machine.jit import INSIDE, OPTIONS

_AHEAD = 8  # edges between asking memory for a row and using it
_NEAR = 1 << 21  # numbers that lie near enough in the processor's caches
FROM_CACHE = 256  # neighbours whose rows are still in the cache after a first pass over them
TOGETHER = 4  # edges whose gradients are added at once: an affine edge term has as many sums as features
FLUSH = 64  # edges or vertices whose float32 sums are added into float64 at once

_TABLE, _AFFINE = 2, 3


@njit(**OPTIONS)
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


@njit(**OPTIONS)
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


@overload(prefetch_edge, jit_options=INSIDE)
def _prefetch_edge(edge, e):
    if len(edge) == _TABLE:
        return lambda edge, e: prefetch_item(edge[0], e)
    if len(edge) == _AFFINE:
        return lambda edge, e: prefetch_row(edge[0], e)
    return lambda edge, e: None


def source_row(x, u, edge, e, room):
    """What ``edge_value`` starts from for edge ``e`` from source ``u``: the row of x; features of an affine edge term
    beyond ``AT_ONCE`` are added to it in ``room``.
    """
    raise NotImplementedError


@overload(source_row, jit_options=INSIDE, inline="always")
def _source_row(x, u, edge, e, room):
    if len(edge) != _AFFINE:
        return lambda x, u, edge, e, room: row_of(x, u)

    def affine(x, u, edge, e, room):
        more = edge[0].shape[1] > AT_ONCE
        if more:
            _add_more(row_of(x, u), edge[0], edge[1], e, room)
        return either(more, room, row_of(x, u))

    return affine


@njit(**OPTIONS)
def _add_more(row, features, weight, e, room):
    for j in range(room.shape[0]):
        room[j] = row[j]
    for k in range(AT_ONCE, features.shape[1]):
        a = features[e, k]
        for j in range(room.shape[0]):
            room[j] = fma(a, weight[k, j], room[j])


def edge_part(edge, e):
    """What all channels of the edge term of edge ``e`` share: its row of the table, or its first features."""
    raise NotImplementedError


@overload(edge_part, jit_options=INSIDE, inline="always")
def _edge_part(edge, e):
    if len(edge) == _TABLE:
        return lambda edge, e: edge[0][e]
    if len(edge) == _AFFINE:
        return lambda edge, e: first_numbers(edge[0], np.intp(e))
    return lambda edge, e: 0


def edge_value(row, edge, part, j):
    """h_u + h_e in channel ``j``; bit for bit the same in every kernel."""
    raise NotImplementedError


@overload(edge_value, jit_options=INSIDE, inline="always")
def _edge_value(row, edge, part, j):
    if len(edge) == _TABLE:
        return lambda row, edge, part, j: row[j] + edge[1][part, j]
    if len(edge) == _AFFINE:
        return lambda row, edge, part, j: add_products(row, edge[1], edge[2], part, j)
    return lambda row, edge, part, j: row[j]


@njit(inline="always")
def load_dominant(m, x, u, edge, e, floor, eps, sign, top, room):
    """The messages of an edge into ``m``, and the larger of sign m and ``top`` into ``top``."""
    part = edge_part(edge, e)
    row = source_row(x, u, edge, e, room)
    for j in range(m.shape[0]):
        value = message(edge_value(row, edge, part, j), floor, eps)
        m[j] = value
        top[j] = larger(sign[j] * value, top[j])


@njit(inline="always")
def load_again(position, last, m, x, u, edge, e, floor, eps, room):
    """Make the messages that did not fit the kept rows a second time."""
    if position >= last:
        part = edge_part(edge, e)
        row = source_row(x, u, edge, e, room)
        for j in range(m.shape[0]):
            m[j] = message(edge_value(row, edge, part, j), floor, eps)


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


@overload(add_edge_gradients, jit_options=INSIDE)
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


@njit(**OPTIONS)
def flush(sums, totals):
    """Move float32 sums of a few edges or vertices into the float64 totals of the chunk."""
    for k in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            totals[k, j] += sums[k, j]
            sums[k, j] = 0
