"""Aggregations with an affine edge term of few features in float32: the case of deep networks with edge features.

They go over the edges of a vertex in segments, and over each segment block by block of channels. Messages, sums and
gradients are those of the other kernels, see ``softmax``, ``power_mean``, ``extremum``, ``sum_mean`` and ``backward``.
The aggregations are told apart by the number of their outputs, and in backward by the length of ``rule``.
"""

import numpy as np
from numba import njit
from numba.extending import overload

from deepergcn.ops.kernels.cpu.affine.backward_step import backward_step, finish_source
from deepergcn.ops.kernels.cpu.affine.edges import STATE, SUMS, copy_all
from deepergcn.ops.kernels.cpu.affine.power_mean_step import power_mean_step
from deepergcn.ops.kernels.cpu.affine.steps import extremum_step, finish, softmax_step, sum_step
from deepergcn.ops.kernels.cpu.machine.arrays import AT_ONCE, bare, block_rows, prefetch_row
from deepergcn.ops.kernels.cpu.machine.jit import INSIDE, body, kernel
from deepergcn.ops.kernels.cpu.machine.lanes import LANES, first_channel
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import FLUSH, chunk_begin, flush, lookahead

_SEGMENT = 64  # edges whose features and messages are kept near; at most FLUSH
_POWER_MEAN, _SOFTMAX, _EXTREMUM, _SUM = 5, 4, 2, 1  # outputs


@njit(inline="always")
def _take(features, place, start, count, near):
    """Copy the features of ``count`` edges from ``start`` next to each other."""
    if features.shape[1] == AT_ONCE:
        for i in range(count):
            copy_all(features, np.intp(place[start + i]), near, np.intp(i))
    else:
        for i in range(count):
            e = place[start + i]
            for f in range(features.shape[1]):
                near[i, f] = features[e, f]


@body
def _forward(chunk, chunks, rowptr, source, place, x, features, constants, floor, eps, outputs):
    """The outputs of ``softmax``, ``power_mean``, ``extremum`` or ``sum_mean``, [targets, channels] each."""
    if chunk < 0:
        write_call(chunks)
        return
    x, features, constants, outputs = bare(x), bare(features), bare(constants), bare(outputs)
    source, place = bare(source), bare(place)
    channels, edges, blocks = x.shape[1], source.shape[0], constants.shape[0]
    ahead = lookahead(x, edges)
    near = block_rows(x, _SEGMENT, AT_ONCE)
    near[:] = 0
    kept = block_rows(x, 2 * _SEGMENT, LANES)
    state = block_rows(x, blocks * STATE, LANES)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[v], rowptr[v + 1]
        for start in range(begin, end, _SEGMENT):
            count = min(_SEGMENT, end - start)
            if ahead < edges:
                for k in range(min(start + _SEGMENT, edges), min(start + 2 * _SEGMENT, edges)):
                    prefetch_row(x, source[k])
                    prefetch_row(features, place[k])
            _take(features, place, start, count, near)
            for b in range(blocks):
                j, done = first_channel(b, channels), start - begin
                add(outputs, x, near, constants, b, j, floor, eps, source, start, count, done, state, kept)
        for b in range(blocks):
            finish(outputs, np.intp(v), begin == end, first_channel(b, channels), state, b, constants)


forward = kernel(_forward)


def add(outputs, x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept):
    """The step of the aggregation with these outputs."""
    raise NotImplementedError


@overload(add, jit_options=INSIDE, inline="always")
def _add(outputs, x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept):
    if len(outputs) == _POWER_MEAN:

        def powers(outputs, x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept):
            learned = outputs[4].shape[0] > 0
            power_mean_step(
                x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept, learned
            )

        return powers
    step = {_SOFTMAX: softmax_step, _EXTREMUM: extremum_step, _SUM: sum_step}[len(outputs)]

    def added(outputs, x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept):
        step(x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept)

    return added


@body
def _backward(chunk, chunks, rowptr, target, place, x, features, constants, floor, eps, rule, dx, totals):
    """As ``backward``, with ``totals`` [chunks, blocks, SUMS, LANES] and ``rule`` as ``backward_step`` takes it."""
    if chunk < 0:
        write_call(chunks)
        return
    x, features, constants, rule, dx = bare(x), bare(features), bare(constants), bare(rule), bare(dx)
    target, place = bare(target), bare(place)
    channels, edges, blocks = x.shape[1], target.shape[0], constants.shape[0]
    of_targets = rule[0].reshape(rule[0].shape[0], rule[0].shape[1] * rule[0].shape[2] * LANES)
    ahead = lookahead(x, edges)
    near = block_rows(x, _SEGMENT, AT_ONCE)
    near[:] = 0
    sums = block_rows(x, blocks * SUMS, LANES)
    sums[:] = 0
    acc = block_rows(x, blocks, LANES)
    pending = 0
    for u in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[u], rowptr[u + 1]
        acc[:] = 0
        for start in range(begin, end, _SEGMENT):
            count = min(_SEGMENT, end - start)
            if pending + count > FLUSH:
                flush(sums, totals[chunk])
                pending = 0
            pending += count
            if ahead < edges:
                for k in range(min(start + _SEGMENT, edges), min(start + 2 * _SEGMENT, edges)):
                    prefetch_row(of_targets, target[k])
                    prefetch_row(features, place[k])
            _take(features, place, start, count, near)
            for b in range(blocks):
                j = first_channel(b, channels)
                backward_step(x, near, constants, b, j, floor, eps, target, start, count, np.intp(u), rule, sums, acc)
        for b in range(blocks):
            finish_source(dx, np.intp(u), first_channel(b, channels), acc, b, sums)
    flush(sums, totals[chunk])


backward = kernel(_backward)
