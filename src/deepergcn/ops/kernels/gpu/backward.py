"""The backward of every aggregation: over the transposed structure, source by source.

Messages and weights are made anew from what forward kept for each target. What differs between the aggregations is the
derivative of one message, given by a rule (first, second, third, parameter):

    SUM         first = g                                       dm = g
    EXTREMUM    first = out, second = g / ties                  dm = g / ties where m = out
    POWER_MEAN  first = dominant, second = g exp(M) / S,        dm = second exp((p - 1) ln(m / dominant))
                parameter = p
    SOFTMAX     first = dominant, second = g / S,               dm = w (1 + beta (m - dominant - offset)),
                third = offset, parameter = beta                w = second exp(beta (m - dominant));
                                                                dm = w for the semi-gradient

The first three are [targets, channels], the parameter [channels]. The gradient of a dense edge term is written by the
same pass. Those of a table and of an affine map are sums over edges of all sources: they take a pass of their own, of
a table with its edges ordered by their codes, a program a row, of an affine map in cuts of equally many edges.
"""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from deepergcn.ops.kernels.contract import Tensors
from deepergcn.ops.kernels.gpu.launch import SMALL_TILE, blocks, launch, message_options, number_of, reduce_rows
from deepergcn.ops.kernels.gpu.maths import divide, root_of_exp
from deepergcn.ops.kernels.gpu.rows import (
    AFFINE,
    DENSE,
    JOINED,
    NONE,
    PART,
    add_edge_term,
    columns_of,
    gather,
    message,
    slot_of,
    span,
)

SUM = tl.constexpr(0)
EXTREMUM = tl.constexpr(1)
POWER_MEAN = tl.constexpr(2)
SOFTMAX = tl.constexpr(3)

_CUTS = 2048  # programs that share the edges of an affine map, each with sums of its own
_FEATURES = 16  # raw edge features whose weights a program sums up


@triton.jit
def derivative(
    h, target, rule, columns, channels, inside,
    RULE: tl.constexpr, SLOPE: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr, NUMBER: tl.constexpr,
):  # fmt: skip
    """(dh, share): the gradient of h = h_u + h_e through the message to ``target``; softmax's share of dbeta too."""
    first, second, third, parameter = rule
    m = message(h, RELU, EPS)
    given = gather(first, target, columns, channels, inside, NUMBER)
    share = tl.zeros_like(h)
    if RULE == SUM:
        dm = given
    if RULE == EXTREMUM:
        reached = (m == given).to(NUMBER)
        dm = reached * gather(second, target, columns, channels, inside, NUMBER)  # NaN for a target that met a NaN
    if RULE == POWER_MEAN:
        p = tl.load(parameter + columns, mask=columns < channels, other=1.0).to(NUMBER)
        root = root_of_exp((p[None, :] - 1.0) * tl.log(divide(m, given)))
        dm = gather(second, target, columns, channels, inside, NUMBER) * root * root
    if RULE == SOFTMAX:
        beta = tl.load(parameter + columns, mask=columns < channels, other=0.0).to(NUMBER)
        below = m - given
        w = gather(second, target, columns, channels, inside, NUMBER) * tl.exp(beta[None, :] * below)
        away = below - gather(third, target, columns, channels, inside, NUMBER)
        share = tl.where(inside, w * away * away, 0.0)
        dm = w
        if SLOPE:
            dm = w + beta[None, :] * w * away
    if RELU:
        dm = tl.where(h <= 0.0, 0.0, dm)
    return tl.where(inside, dm, 0.0), share


@triton.jit
def _backward(
    graph, x, term, rule, dx, d_edge, shares, partial, channels,
    RULE: tl.constexpr, SLOPE: tl.constexpr, LEARNED: tl.constexpr,
    PHASE: tl.constexpr, LONG: tl.constexpr, KIND: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """dx of every source, the gradient of a dense edge term, and every source's share of dbeta."""
    ends, place = graph[1], graph[2]
    row, begin, end = span(graph, LONG, PHASE)
    columns, inside = columns_of(channels, BLOCK_C)
    total = tl.zeros([BLOCK_C], NUMBER)
    shared = tl.zeros([BLOCK_C], NUMBER)
    if PHASE == JOINED and end - begin > LONG:
        for cut in range(begin // LONG, (end + LONG - 1) // LONG):
            at = partial + slot_of(cut, begin, LONG) * 2 * channels + columns
            total += tl.load(at, mask=inside, other=0.0)
            if LEARNED:
                shared += tl.load(at + channels, mask=inside, other=0.0)
    else:
        base = tl.load(x + row * channels + columns, mask=inside, other=0.0).to(NUMBER)
        for k in range(begin, end, BLOCK_E):
            at = k + tl.arange(0, BLOCK_E)
            live = at < end
            both = live[:, None] & inside[None, :]
            target = tl.load(ends + at, mask=live, other=0)
            h = tl.broadcast_to(base[None, :], [BLOCK_E, BLOCK_C])
            if KIND != NONE:
                edge = tl.load(place + at, mask=live, other=0)
                h = add_edge_term(h, term, edge, columns, channels, live, both, KIND, NUMBER)
            dh, share = derivative(h, target, rule, columns, channels, both, RULE, SLOPE, RELU, EPS, NUMBER)
            total += tl.sum(dh, axis=0)
            if LEARNED:
                shared += tl.sum(share, axis=0)
            if KIND == DENSE:
                offsets = edge.to(tl.int64)[:, None] * channels + columns[None, :]
                tl.store(d_edge + offsets, dh.to(d_edge.dtype.element_ty), mask=both)
    if PHASE == PART:
        if end > begin:
            at = partial + tl.program_id(0).to(tl.int64) * 2 * channels + columns
            tl.store(at, total, mask=inside)
            if LEARNED:
                tl.store(at + channels, shared, mask=inside)
    else:
        at = row * channels + columns
        tl.store(dx + at, total.to(dx.dtype.element_ty), mask=inside)
        if LEARNED:
            tl.store(shares + at, shared, mask=inside)


@triton.jit
def _table_gradient(
    graph, x, term, sources, rule, d_table, partial, channels, RULE: tl.constexpr, SLOPE: tl.constexpr,
    PHASE: tl.constexpr, LONG: tl.constexpr, KIND: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """The gradient of every row of a table: the rows of ``graph`` are codes, its ends the targets of their edges."""
    ends, table = graph[1], term[1]
    row, begin, end = span(graph, LONG, PHASE)
    columns, inside = columns_of(channels, BLOCK_C)
    total = tl.zeros([BLOCK_C], NUMBER)
    if PHASE == JOINED and end - begin > LONG:
        for cut in range(begin // LONG, (end + LONG - 1) // LONG):
            total += tl.load(partial + slot_of(cut, begin, LONG) * channels + columns, mask=inside, other=0.0)
    else:
        base = tl.load(table + row * channels + columns, mask=inside, other=0.0).to(NUMBER)
        for k in range(begin, end, BLOCK_E):
            at = k + tl.arange(0, BLOCK_E)
            live = at < end
            both = live[:, None] & inside[None, :]
            target = tl.load(ends + at, mask=live, other=0)
            source = tl.load(sources + at, mask=live, other=0)
            h = gather(x, source, columns, channels, both, NUMBER) + base[None, :]
            dh, _share = derivative(h, target, rule, columns, channels, both, RULE, SLOPE, RELU, EPS, NUMBER)
            total += tl.sum(dh, axis=0)
    if PHASE == PART:
        if end > begin:
            tl.store(partial + tl.program_id(0).to(tl.int64) * channels + columns, total, mask=inside)
    else:
        tl.store(d_table + row * channels + columns, total.to(d_table.dtype.element_ty), mask=inside)


@triton.jit
def _affine_gradient(
    ends, place, targets, x, term, rule, sums, edges, channels, per_cut,
    RULE: tl.constexpr, SLOPE: tl.constexpr, RELU: tl.constexpr, EPS: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_C: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    """The sums over a cut of edges of dh f_e, for ``FEATURES`` raw features, and of dh: [cuts, count + 1, channels]."""
    features, count = term[0], term[3]
    columns, inside = columns_of(channels, BLOCK_C)
    begin = tl.program_id(0).to(tl.int64) * per_cut
    end = tl.minimum(begin + per_cut, edges)
    numbers = tl.program_id(2) * FEATURES + tl.arange(0, FEATURES)
    weight = tl.zeros([FEATURES, BLOCK_C], NUMBER)
    bias = tl.zeros([BLOCK_C], NUMBER)
    for k in range(begin, end, BLOCK_E):
        at = k + tl.arange(0, BLOCK_E)
        live = at < end
        both = live[:, None] & inside[None, :]
        source = tl.load(ends + at, mask=live, other=0)
        edge = tl.load(place + at, mask=live, other=0)
        target = tl.load(targets + at, mask=live, other=0)
        h = gather(x, source, columns, channels, both, NUMBER)
        h = add_edge_term(h, term, edge, columns, channels, live, both, AFFINE, NUMBER)
        dh, _share = derivative(h, target, rule, columns, channels, both, RULE, SLOPE, RELU, EPS, NUMBER)
        offsets = edge.to(tl.int64)[None, :] * count + numbers[:, None]
        f = tl.load(features + offsets, mask=live[None, :] & (numbers < count)[:, None], other=0.0).to(NUMBER)
        weight += tl.dot(f, dh, input_precision="ieee", out_dtype=NUMBER)
        bias += tl.sum(dh, axis=0)
    at = sums + tl.program_id(0).to(tl.int64) * (count + 1) * channels
    there = (numbers < count)[:, None] & inside[None, :]
    tl.store(at + numbers[:, None] * channels + columns[None, :], weight, mask=there)
    if tl.program_id(2) == 0:
        tl.store(at + count * channels + columns, bias, mask=inside)


def run_backward(
    kind: tl.constexpr,
    rule: Sequence[Tensor | None],
    x: Tensor,
    graph: Tensors,
    edge: Tensors,
    eps: float | None,
    *,
    slope: bool = True,
    learned: bool = False,
) -> tuple[Tensor, list[Tensor], Tensor | None]:
    """The gradients of x and of what is learnable in the edge term, and every source's share of dbeta if asked for."""
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    shares = torch.empty_like(dx, dtype=number_of(x)) if learned else None
    d_edge = [torch.empty_like(edge[0], memory_format=torch.contiguous_format)] if len(edge) == 1 else []
    rows = tuple(x if t is None else t.contiguous() for t in (*rule, *[None] * (4 - len(rule))))
    options = {"RULE": kind.value, "SLOPE": slope}
    arguments = [rows, dx, d_edge[0] if d_edge else dx, dx if shares is None else shares]
    reduce_rows(
        _backward, graph[3:], x, edge, eps, arguments, sums=2, tile_bytes=SMALL_TILE, LEARNED=learned, **options
    )
    if len(edge) == 2:
        d_edge = [_gradient_of_table(rows, x, graph, edge, eps, options)]
    if len(edge) == 3:
        d_edge = _gradients_of_affine(rows, x, graph, edge, eps, options)
    return dx, d_edge, shares


def _targets(graph: Tensors) -> Tensor:
    """The target of every edge in the order by target."""
    degree = graph[0][1:] - graph[0][:-1]
    numbers = torch.arange(degree.shape[0], dtype=degree.dtype, device=degree.device)
    return numbers.repeat_interleave(degree, output_size=graph[1].shape[0])


def _gradient_of_table(
    rule: tuple[Tensor, ...], x: Tensor, graph: Tensors, edge: Tensors, eps: float | None, options: dict[str, int]
) -> Tensor:
    codes, table = edge
    _, source, place, *_ = graph
    sorted_codes, order = torch.sort(codes[place], stable=True)
    bounds = torch.arange(table.shape[0] + 1, dtype=sorted_codes.dtype, device=codes.device)
    groups = [torch.searchsorted(sorted_codes, bounds), _targets(graph)[order], order]
    out = torch.empty_like(table, memory_format=torch.contiguous_format)
    reduce_rows(
        _table_gradient, groups, x, edge, eps, [source[order], rule, out], sums=1, tile_bytes=SMALL_TILE, **options
    )
    return out


def _gradients_of_affine(
    rule: tuple[Tensor, ...], x: Tensor, graph: Tensors, edge: Tensors, eps: float | None, options: dict[str, int]
) -> list[Tensor]:
    _, source, place, *_ = graph
    _, weight, bias = edge
    channels, count = weight.shape
    edges = source.shape[0]
    constants, term = message_options(x, edge, eps)
    constants.pop("KIND")
    block_c = min(blocks(x)["BLOCK_C"], 64)
    per_cut = max(triton.cdiv(triton.cdiv(edges, _CUTS), 16) * 16, 256)
    cuts = triton.cdiv(edges, per_cut)
    sums = torch.empty(cuts, count + 1, channels, dtype=number_of(x), device=x.device)
    launch(
        _affine_gradient,
        (cuts, triton.cdiv(channels, block_c), triton.cdiv(max(count, 1), _FEATURES)),
        *(source, place, _targets(graph), x.contiguous(), term, rule, sums, edges, channels, per_cut),
        **options,
        **constants,
        BLOCK_E=16,
        BLOCK_C=block_c,
        FEATURES=_FEATURES,
        num_warps=2,
    )
    added = sums.sum(dim=0, dtype=torch.float64)
    return [added[:count].t().to(weight.dtype).contiguous(), added[count].to(bias.dtype)]
