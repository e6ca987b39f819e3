"""The messages of some edges of one vertex for one block of channels, written for LLVM.

What belongs to the channels is in ``constants`` [blocks, CONSTANTS, LANES], whose rows are the weights of ``AT_ONCE``
features (0 for missing ones), the bias, and the sign, beta and slope of the aggregation. For power mean beta is p, and
slope is 1 / p in forward and (p - 1) / 2 in backward.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from deepergcn.ops.kernels.cpu.machine.arrays import AT_ONCE
from deepergcn.ops.kernels.cpu.machine.lanes import Code, block_row

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
