"""What the kernels for affine edge terms do with some edges of one vertex and one block of channels, for LLVM.

The weights of the edge term and the sums of the vertex stay in registers from edge to edge. Every step begins with the
arguments of ``Edges``. What belongs to the channels is in ``constants`` [blocks, CONSTANTS, LANES], whose rows are the
weights of ``AT_ONCE`` features (0 for missing ones), the bias, and the sign, beta and slope of the aggregation. For
power mean beta is p, and slope is 1 / p in forward and (p - 1) / 2 in backward.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from deepergcn.ops.kernels.cpu.machine.intrinsics import AT_ONCE
from deepergcn.ops.kernels.cpu.machine.lanes import LANES, LN2, VANISHED_ROOT, Code, block_row

BIAS, SIGN, BETA, SLOPE = range(AT_ONCE, AT_ONCE + 4)
INVERSE = SLOPE  # 1 / p in the forward of power mean
CONSTANTS = SLOPE + 1
STATE = 5  # rows of the sums of a target, at most
DBETA = AT_ONCE + 1
SUMS = DBETA + 1  # rows of the sums over all edges: the gradients of the weights, of the bias and of beta


class Edges(Code):
    """The messages of some edges: (x, near, constants, block, channel, floor, eps, index, start, count, ...).

    ``near`` [edges, AT_ONCE] has the features of these edges, ``channel`` is the first of the block, and ``index`` has
    the other ends of the edges, ``count`` of them from ``start``.
    """

    def __init__(self, *given):
        super().__init__(*given)
        self.block, self.channel = self.arguments[3:5]
        self.floor, self.eps = (self.spread(self.arguments[place]) for place in (5, 6))
        self.start, self.count = self.arguments[8:10]
        self._x, self._near, constants, self._index = (self.pointer(place) for place in (0, 1, 2, 7))
        self._channels = self.width(0)
        self.constants = [self.load(constants, self.row(CONSTANTS, row)) for row in range(CONSTANTS)]

    def row(self, rows, row):
        """Where a row of this block begins in an array [blocks, rows, LANES]."""
        return block_row(self, self.block, rows, row)

    def at(self, vertex):
        """Where the channels of a vertex begin in an array [vertices, channels]."""
        return self.builder.add(self.builder.mul(vertex, self._channels), self.channel)

    def other_end(self, i):
        """The other end of edge ``i``."""
        return self.number(self._index, self.builder.add(self.start, i))

    def features(self, u):
        """h_u + bias."""
        return self.load(self._x, self.at(u)) + self.constants[BIAS]

    def numbers(self, i):
        """The features of edge ``i``, each in all lanes."""
        begin = self.builder.mul(i, self.long(AT_ONCE))
        return [self.spread_at(self._near, self.builder.add(begin, self.long(k))) for k in range(AT_ONCE)]

    def value(self, start, numbers):
        """h_u + h_e from h_u + bias, each product added with one rounding, in order."""
        for number, weight in zip(numbers, self.constants[:AT_ONCE], strict=True):
            start = self.fma(number, weight, start)
        return start

    def message(self, h):
        """``rows.message``."""
        return self.floor.where(h.compare("<=", self.floor), h) + self.eps

    def messages(self):
        """The message of each edge, in a loop."""
        with self.loop(self.count) as i:
            yield i, self.message(self.value(self.features(self.other_end(i)), self.numbers(i)))

    def state(self, done, place, *initial):
        """Whether these are the first edges of a target, its sums before them, and where they are kept."""
        pointer = self.pointer(place)
        first = self.builder.icmp_signed("==", done, self.long(0))
        rows = [self.row(STATE, row) for row in range(len(initial))]
        values = [
            self.all(value).where(first, self.load(pointer, row)) for value, row in zip(initial, rows, strict=True)
        ]
        return first, pointer, rows, values


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


@intrinsic
def finish_source(typing_context, dx, u, channel, acc, block, sums):
    """Write the gradient of source ``u``, and add it to that of the bias."""

    def generate(context, builder, signature, arguments):
        c = Code(context, builder, signature, arguments)
        _, u, channel, _, block, _ = arguments
        gradient = c.load(c.pointer(3), block_row(c, block, 1, 0))
        c.store(gradient, c.pointer(0), builder.add(builder.mul(u, c.width(0)), channel))
        place = block_row(c, block, SUMS, AT_ONCE)
        c.store(c.load(c.pointer(5), place) + gradient, c.pointer(5), place)
        return context.get_dummy_value()

    return types.void(dx, u, channel, acc, block, sums), generate


def _softmax(c, h, rows, dbeta):
    """The derivative of a message of softmax; ``rows`` are dominant, offset and g / S of its target."""
    dominant, offset, share = rows
    below = c.message(h) - dominant
    w = share * c.weight(c.constants[BETA] * below)
    away = below - offset
    push = w * away
    dbeta.set(dbeta.get() + push * away)
    return w + c.constants[SLOPE] * push


def _extremum(c, h, rows, dbeta):
    """The derivative of a message of max or min; ``rows`` are out and g / ties of its target."""
    out, share = rows
    return c.all(1.0).where(c.message(h).compare("==", out), 0.0) * share  # NaN for a target that has met a NaN


def _power_mean(c, h, rows, dbeta):
    """The derivative of a message of power mean; ``rows`` are dominant and g relative / S of its target."""
    dominant, share = rows
    whole, rest = c.log2_parts(c.message(h) / dominant)
    root = c.root_of_exp2(c.constants[SLOPE] * (whole + rest), VANISHED_ROOT)
    return share * root * root


def _sum(c, h, rows, dbeta):
    """The derivative of a message of the sum; ``rows`` is g alone."""
    return rows[0]


POWER_MEAN = 4
_DERIVATIVES = {1: (_sum, 1), 2: (_extremum, 2), 3: (_softmax, 3), POWER_MEAN: (_power_mean, 2)}
"""The derivative of a message, and the number of rows that a target has, by the length of ``rule``."""


@intrinsic
def backward_step(
    typing_context, x, near, constants, block, channel, floor, eps, index, start, count, u, rule, sums, dx
):
    """Add edges from source ``u`` to its gradient ``dx`` [blocks, LANES] and to ``sums`` [blocks, SUMS, LANES].

    ``rule`` is one array [targets, blocks, rows, LANES], in a tuple whose length tells the aggregation.
    """

    def generate(context, builder, signature, arguments):
        c = Edges(context, builder, signature, arguments)
        derivative, rows = _DERIVATIVES[len(rule)]
        packed = context.make_array(rule[0])(context, builder, builder.extract_value(arguments[11], 0))
        blocks = builder.extract_value(packed.shape, 1)
        own = c.features(arguments[10])
        sums, here = c.pointer(12), c.row(1, 0)
        totals = [c.variable(c.load(sums, c.row(SUMS, row))) for row in range(AT_ONCE)]
        dbeta = c.variable(c.load(sums, c.row(SUMS, DBETA)))
        dx = c.variable(c.load(c.pointer(13), here))
        with c.loop(c.count) as i:
            v = builder.add(builder.mul(c.other_end(i), blocks), c.block)
            place = builder.mul(v, c.long(rows * LANES))
            of_target = [c.load(packed.data, builder.add(place, c.long(row * LANES))) for row in range(rows)]
            numbers = c.numbers(i)
            h = c.value(own, numbers)
            d = c.all(0.0).where(h.compare("<=", c.floor), derivative(c, h, of_target, dbeta))
            dx.set(dx.get() + d)
            for number, total in zip(numbers, totals, strict=True):
                total.set(c.fma(number, d, total.get()))
        for row, total in enumerate(totals):
            c.store(total.get(), sums, c.row(SUMS, row))
        c.store(dbeta.get(), sums, c.row(SUMS, DBETA))
        c.store(dx.get(), c.pointer(13), here)
        return context.get_dummy_value()

    given = (x, near, constants, block, channel, floor, eps, index, start, count, u, rule, sums, dx)
    return types.void(*given), generate


@intrinsic
def copy_all(typing_context, features, edge, near, i):
    """Copy the AT_ONCE features of an edge to row ``i`` of ``near``."""

    def generate(context, builder, signature, arguments):
        c = Code(context, builder, signature, arguments)
        row = ir.VectorType(ir.FloatType(), AT_ONCE).as_pointer()
        places = [builder.mul(arguments[place], c.long(AT_ONCE)) for place in (1, 3)]
        taken, put = (
            builder.bitcast(builder.gep(c.pointer(array), [place]), row)
            for array, place in zip((0, 2), places, strict=True)
        )
        builder.store(builder.load(taken, align=4), put, align=4)
        return context.get_dummy_value()

    return types.void(features, types.intp, near, types.intp), generate
