"""What every kernel shares: which edges a program reduces, and the message of an edge, a tile of edges by channels.

A program reduces one row of a structure ``graph`` = (rowptr, ends, place, rows, edges): rowptr [rows + 1], and for
every edge its other end and its place in the given order. A row with more than ``LONG`` edges, a hub, is split. Its
edges are cut where their number in the structure is a multiple of ``LONG``, a program reduces each part, and the row's
own program adds up the parts in their order. A cut of ``LONG`` edges touches two hubs at most, since each has more
edges than that, and so has two slots for the sums of parts: the first for the hub that it begins within, the second for
one that begins within it. No list of hubs has to be made, and nothing is added by two programs to the same place.

An edge term is ``term`` = (first, second, third, count), of which a kernel reads what its ``KIND`` says:

    NONE    nothing
    DENSE   first = h_e [edges, channels]
    TABLE   first = codes [edges], second = table [count, channels]
    AFFINE  first = features [edges, count], second = weight [count, channels], third = bias [channels]
"""

import triton
import triton.language as tl

NONE = tl.constexpr(0)
DENSE = tl.constexpr(1)
TABLE = tl.constexpr(2)
AFFINE = tl.constexpr(3)

WHOLE = tl.constexpr(0)  # there are no hubs: a program reduces a row
PART = tl.constexpr(1)  # a program reduces a part of a hub
JOINED = tl.constexpr(2)  # a program reduces a row, a hub from the sums of its parts


@triton.jit
def row_of(rowptr, rows, edge):
    """The row that ``edge`` belongs to, by bisection."""
    low = tl.full((), 0, tl.int64)
    high = tl.full((), 0, tl.int64) + rows
    while high - low > 1:
        middle = (low + high) // 2
        if tl.load(rowptr + middle).to(tl.int64) <= edge:
            low = middle
        else:
            high = middle
    return low


@triton.jit
def span(graph, LONG: tl.constexpr, PHASE: tl.constexpr):
    """(row, begin, end): the edges of this program; none in a slot that no hub needs."""
    rowptr, rows, edges = graph[0], graph[3], graph[4]
    row = tl.program_id(0).to(tl.int64)
    if PHASE == PART:
        first = row // 2 * LONG
        last = tl.minimum(first + LONG, edges)
        is_second = row % 2 == 1
        row = row_of(rowptr, rows, tl.where(is_second, last - 1, first))
        begin = tl.load(rowptr + row).to(tl.int64)
        end = tl.load(rowptr + row + 1).to(tl.int64)
        is_needed = (end - begin > LONG) & ((begin > first) == is_second)
        begin = tl.maximum(begin, first)
        return row, begin, tl.where(is_needed, tl.minimum(end, last), begin)
    return row, tl.load(rowptr + row).to(tl.int64), tl.load(rowptr + row + 1).to(tl.int64)


@triton.jit
def slot_of(cut, begin, LONG: tl.constexpr):
    """Where the sums of a hub's part lie that belongs to ``cut``, given the hub's first edge."""
    return 2 * cut + (begin > cut * LONG).to(tl.int64)


@triton.jit
def columns_of(channels, BLOCK_C: tl.constexpr):
    """The channels of this program, and which of them there are."""
    columns = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    return columns, columns < channels


@triton.jit
def gather(matrix, rows, columns, channels, inside, NUMBER: tl.constexpr):
    """Rows of a matrix [any, channels]: a tile of ``NUMBER``s, 0 where it is not ``inside``."""
    offsets = rows.to(tl.int64)[:, None] * channels + columns[None, :]
    return tl.load(matrix + offsets, mask=inside, other=0.0).to(NUMBER)


@triton.jit
def add_edge_term(h, term, edge, columns, channels, live, inside, KIND: tl.constexpr, NUMBER: tl.constexpr):
    """h + h_e for a tile of edges; bit for bit the same in every kernel, and NaN for a code beyond the table."""
    first, second, third, count = term
    if KIND == DENSE:
        h = h + gather(first, edge, columns, channels, inside, NUMBER)
    if KIND == TABLE:
        code = tl.load(first + edge, mask=live, other=0)
        is_known = (code >= 0) & (code < count)
        row = gather(second, code, columns, channels, inside & is_known[:, None], NUMBER)
        h = h + tl.where(is_known[:, None], row, float("nan"))
    if KIND == AFFINE:
        h = h + tl.load(third + columns, mask=columns < channels, other=0.0).to(NUMBER)[None, :]
        for k in range(count):
            feature = tl.load(first + edge.to(tl.int64) * count + k, mask=live, other=0.0).to(NUMBER)
            weight = tl.load(second + k * channels + columns, mask=columns < channels, other=0.0).to(NUMBER)
            h = tl.fma(tl.broadcast_to(feature[:, None], h.shape), tl.broadcast_to(weight[None, :], h.shape), h)
    return h


@triton.jit
def message(h, RELU: tl.constexpr, EPS: tl.constexpr):
    """ReLU(h) + eps, or h as it is; NaN stays NaN."""
    if RELU:
        return tl.where(h <= 0.0, 0.0, h) + EPS
    return h


@triton.jit
def messages(
    k, end, graph, x, term, columns, inside, channels,
    KIND: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr, NUMBER: tl.constexpr, BLOCK_E: tl.constexpr,
):  # fmt: skip
    """The messages of the edges from ``k`` on, up to ``end``, [BLOCK_E, BLOCK_C], and which of them there are."""
    ends, place = graph[1], graph[2]
    at = k + tl.arange(0, BLOCK_E)
    live = at < end
    both = live[:, None] & inside[None, :]
    source = tl.load(ends + at, mask=live, other=0)
    h = gather(x, source, columns, channels, both, NUMBER)
    if KIND != NONE:
        edge = tl.load(place + at, mask=live, other=0)
        h = add_edge_term(h, term, edge, columns, channels, live, both, KIND, NUMBER)
    return message(h, RELU, EPS), tl.broadcast_to(live[:, None], h.shape)
