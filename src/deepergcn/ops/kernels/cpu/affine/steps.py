"""What forward does with some edges of one target and one block of channels, for LLVM.

The weights of the edge term and the sums of the target stay in registers from edge to edge. Every step begins with the
arguments of ``Edges``.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from deepergcn.ops.kernels.cpu.affine.edges import BETA, CONSTANTS, SIGN, STATE, Edges
from deepergcn.ops.kernels.cpu.machine.lanes import LANES, LN2, Code, block_row


@intrinsic
def softmax_step(
    typing_context, x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept
):
    """Add edges to the sums of a target, which has ``done`` edges in them: the dominant message times sign, S, A and D.

    A larger dominant message rescales the other three. ``kept`` has room for the messages.
    """

    def generate(context, builder, signature, arguments):
        c = Edges(context, builder, signature, arguments)
        kept = c.pointer(12)
        sign, beta = c.constants[SIGN], c.constants[BETA]
        first, state, rows, (before, *sums) = c.state(arguments[10], 11, float("-inf"), 0.0, 0.0, 0.0)
        top = c.variable(before)
        for i, m in c.messages():
            c.store(m, kept, builder.mul(i, c.long(LANES)))
            top.set(c.larger(m * sign, top.get()))
        dominant = top.get() * sign
        S, A, D = (c.variable(value) for value in sums)
        with builder.if_then(builder.not_(first)):
            s, a, d = sums
            away = before * sign - dominant
            share = c.weight(beta * away)
            S.set(s * share)
            A.set(a * share)
            D.set((d + s * away) * share)
        with c.loop(c.count) as i:
            m = c.load(kept, builder.mul(i, c.long(LANES)))
            away = m - dominant
            w = c.weight(beta * away)
            S.set(S.get() + w)
            A.set(A.get() + w * m)
            D.set(D.get() + w * away)
        for variable, row in zip((top, S, A, D), rows, strict=True):
            c.store(variable.get(), state, row)
        return context.get_dummy_value()

    given = (x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept)
    return types.void(*given), generate


@intrinsic
def extremum_step(
    typing_context, x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept
):
    """Add edges to the extremum of a target, times sign, and to the number that reach it."""

    def generate(context, builder, signature, arguments):
        c = Edges(context, builder, signature, arguments)
        sign = c.constants[SIGN]
        _, state, rows, values = c.state(arguments[10], 11, float("-inf"), 0.0)
        top, ties = (c.variable(value) for value in values)
        for _, m in c.messages():
            z, before = m * sign, top.get()
            taken = builder.or_(z.compare(">", before), builder.fcmp_unordered("uno", z.value, z.value))
            more = ties.get() + c.all(1.0).where(z.compare("==", before), 0.0)
            ties.set(c.all(1.0).where(taken, more))
            top.set(z.where(taken, before))
        for variable, row in zip((top, ties), rows, strict=True):
            c.store(variable.get(), state, row)
        return context.get_dummy_value()

    given = (x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept)
    return types.void(*given), generate


@intrinsic
def sum_step(typing_context, x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept):
    """Add edges to the sum of a target."""

    def generate(context, builder, signature, arguments):
        c = Edges(context, builder, signature, arguments)
        _, state, rows, (before,) = c.state(arguments[10], 11, 0.0)
        total = c.variable(before)
        for _, m in c.messages():
            total.set(total.get() + m)
        c.store(total.get(), state, rows[0])
        return context.get_dummy_value()

    given = (x, near, constants, block, channel, floor, eps, index, start, count, done, state, kept)
    return types.void(*given), generate


def _softmax_results(c, sign, top, S, A, D):
    return (A / S, 0.0), (top * sign, 0.0), (D / S, 0.0), (S, 1.0)


def _power_mean_results(c, sign, top, S, Q, M, K):
    root, dominant = c.root_of_exp2(M * (0.5 / LN2), -63.0), top * sign  # the square of 2^-63 is a normal number
    out = dominant * root * root
    return (out, 0.0), (root * root, 1.0), (dominant, 1.0), (S, 1.0), (out * K, 0.0)


def _extremum_results(c, sign, top, ties):
    return (top * sign, 0.0), (ties.where(top.compare("==", top), float("nan")), 1.0)


def _sum_results(c, sign, total):
    return ((total, 0.0),)


_RESULTS: dict[int, tuple[Callable[..., Any], int]] = {
    1: (_sum_results, 1),
    2: (_extremum_results, 2),
    4: (_softmax_results, 4),
    5: (_power_mean_results, 5),
}
"""Each output of a target and what it is without in-neighbours, and the rows of its sums, by the number of outputs."""


@intrinsic
def finish(typing_context, outputs, v, alone, channel, state, block, constants):
    """Write the outputs of target ``v``, [targets, channels] or without rows; ``alone`` without in-neighbours.

    Numba would look at every index for one below 0, which makes LLVM write lane by lane.
    """

    def generate(context, builder, signature, arguments):
        c = Code(context, builder, signature, arguments)
        _, v, alone, channel, _, block, _ = arguments
        results, count = _RESULTS[len(outputs)]
        rows = [c.load(c.pointer(4), block_row(c, block, STATE, row)) for row in range(count)]
        sign = c.load(c.pointer(6), block_row(c, block, CONSTANTS, SIGN))
        arrays = cgutils.unpack_tuple(builder, arguments[0])
        for kind, value, (result, otherwise) in zip(outputs, arrays, results(c, sign, *rows), strict=True):
            array = context.make_array(kind)(context, builder, value)
            there, channels = cgutils.unpack_tuple(builder, array.shape)
            with builder.if_then(builder.icmp_signed(">", there, c.long(0))):
                place = builder.add(builder.mul(v, channels), channel)
                c.store(c.all(otherwise).where(alone, result), array.data, place)
        return context.get_dummy_value()

    return types.void(outputs, v, alone, channel, state, block, constants), generate
