"""What backward does with some edges of one source and one block of channels, for LLVM.

The weights of the edge term and their gradients stay in registers from edge to edge.
"""

from numba import types
from numba.extending import intrinsic

from deepergcn.ops.kernels.cpu.affine.edges import BETA, DBETA, SLOPE, SUMS, Edges
from deepergcn.ops.kernels.cpu.machine.arrays import AT_ONCE
from deepergcn.ops.kernels.cpu.machine.lanes import LANES, VANISHED_ROOT, Code, block_row


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
    slope = c.constants[SLOPE]
    return w.where(slope.compare("==", 0.0), w + slope * push)  # 0 times an infinite distance is NaN


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
