"""SoftMax_Agg without edge features on graphs whose rows do not fit the cache, in float32.

There a row costs more than exponentials: the kernel reads the features alone, half the bytes of what ``softmax_nodes``
reads of a neighbour, and takes the exponentials once an edge. As there, with one shift c and one origin r a channel,

    S_v = sum e_u      offset_v = sum e_u (m_u - r) / S_v      out_v = r + offset_v      e_u = exp(beta (m_u - c)),

where what float32 loses of beta (m_u - c) is no more than a rounding of the messages costs anyway. It goes over the
edges of a vertex in segments, and over each segment block by block of channels, whose sums stay in registers. A hub's
sums are sums of those of its segments, which rounds far less than one sum.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from deepergcn.ops.kernels.cpu.machine.arrays import bare, block_rows
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.lanes import LANES, Code, block_row, first_channel
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import chunk_begin

BETA, SHIFT, ORIGIN = range(3)
CONSTANTS = 3
"""Rows of ``constants`` [blocks, CONSTANTS, LANES]: beta, c and r."""

_SEGMENT = 32  # edges between asking memory for a row and using it
_STATE = 2


@intrinsic
def _add(typing_context, x, constants, block, channel, floor, eps, source, start, ahead, count, state):
    """Add ``count`` edges from ``start`` to the two sums of a block of channels, ``state`` [2 blocks, LANES].

    Memory is asked for the same channels of the edges from ``ahead``: for one line of the cache with each that is used,
    since it would not take all of them at once.
    """

    def generate(context, builder, signature, arguments):
        c = Code(context, builder, signature, arguments)
        block, channel, start, ahead, count = (arguments[place] for place in (2, 3, 7, 8, 9))
        floor, eps = (c.spread(arguments[place]) for place in (4, 5))
        features, given, neighbour, sums = (c.pointer(place) for place in (0, 1, 6, 10))
        width = c.width(0)

        beta, shift, origin = (c.load(given, block_row(c, block, CONSTANTS, row)) for row in range(CONSTANTS))
        places = [block_row(c, block, _STATE, row) for row in range(_STATE)]
        S, A = (c.variable(c.all(0.0)) for _ in places)
        with c.loop(count) as i:
            later, u = (c.number(neighbour, builder.add(first, i)) for first in (ahead, start))
            c.prefetch(features, builder.add(builder.mul(later, width), channel))
            h = c.load(features, builder.add(builder.mul(u, width), channel))
            m = floor.where(h.compare("<=", floor), h) + eps
            e = c.exp(beta * (m - shift))
            S.set(S.get() + e)
            A.set(A.get() + e * (m - origin))
        for variable, place in zip((S, A), places, strict=True):
            c.store(c.load(sums, place) + variable.get(), sums, place)
        return context.get_dummy_value()

    given = (x, constants, block, channel, floor, eps, source, start, ahead, count, state)
    return types.void(*given), generate


@intrinsic
def _finish(typing_context, constants, state, block, alone, v, channel, out, offset, total):
    """Write a block of the outputs of target ``v``; ``alone`` without in-neighbours.

    Numba would look at every index for one below 0, which makes LLVM write lane by lane.
    """

    def generate(context, builder, signature, arguments):
        c = Code(context, builder, signature, arguments)
        block, alone, v, channel = arguments[2:6]
        origin = c.load(c.pointer(0), block_row(c, block, CONSTANTS, ORIGIN))
        S, A = (c.load(c.pointer(1), block_row(c, block, _STATE, row)) for row in range(_STATE))
        S = c.all(1.0).where(alone, S)
        away = A / S
        place = builder.add(builder.mul(v, c.width(6)), channel)
        for output, value in zip((6, 7, 8), (c.all(0.0).where(alone, origin + away), away, S), strict=True):
            c.store(value, c.pointer(output), place)
        return context.get_dummy_value()

    return types.void(constants, state, block, alone, v, channel, out, offset, total), generate


@body
def _forward(chunk, chunks, rowptr, source, x, constants, floor, eps, out, offset, total):
    """out, offset and total = S for every target, [targets, channels] each; x has at least ``LANES`` channels."""
    if chunk < 0:
        write_call(chunks)
        return
    x, source, constants = bare(x), bare(source), bare(constants)
    out, offset, total = bare(out), bare(offset), bare(total)
    channels, edges, blocks = x.shape[1], source.shape[0], constants.shape[0]
    state = block_rows(x, blocks * _STATE, LANES)
    for v in range(chunk_begin(rowptr, chunk, chunks), chunk_begin(rowptr, chunk + 1, chunks)):
        begin, end = rowptr[v], rowptr[v + 1]
        state[:] = 0
        for start in range(begin, end, _SEGMENT):
            count = min(_SEGMENT, end - start)
            ahead = min(start + _SEGMENT, edges - count)
            for b in range(blocks):
                _add(x, constants, b, first_channel(b, channels), floor, eps, source, start, ahead, count, state)
        for b in range(blocks):
            _finish(constants, state, b, begin == end, np.intp(v), first_channel(b, channels), out, offset, total)


forward = kernel(_forward)
