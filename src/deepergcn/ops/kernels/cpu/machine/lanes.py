"""Vectors of ``LANES`` float32 numbers, written for LLVM: what a loop over edges does to so many channels.

LLVM's own vectorization takes one edge and all channels at a time: every edge reads and writes the sums of its vertex,
and reads the weights of the edge term, in memory. With these vectors the loop over the edges of a vertex is inside one
over blocks of channels, and whatever belongs to the vertex or to the channels stays in registers. LLVM divides the
vectors into those that the processor has.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils

LANES = 16
LONG = ir.IntType(64)
_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)

_LOG2E, _LN2_HIGH, _LN2_LOW = 1.44269504088896341, 0.693359375, -2.12194440e-4  # as in maths
_ROUND = 1.5 * 2**23
_VANISHED = -70.0
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)


class Lanes:
    """A vector while code is generated: +, -, * and comparisons generate instructions."""

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder, self.value = builder, value

    def _of(self, other: "Lanes | float") -> ir.Value:
        return other.value if isinstance(other, Lanes) else constant(other)

    def __add__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fadd(self.value, self._of(other)))

    def __sub__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fsub(self.value, self._of(other)))

    def __mul__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fmul(self.value, self._of(other)))

    def __truediv__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.builder, self.builder.fdiv(self.value, other.value))

    def compare(self, sign: str, other: "Lanes | float") -> ir.Value:
        """Where the comparison holds; nowhere for NaN."""
        return self.builder.fcmp_ordered(sign, self.value, self._of(other))

    def where(self, condition: ir.Value, other: "Lanes | float") -> "Lanes":
        """These numbers where the condition holds, else the others."""
        return Lanes(self.builder, self.builder.select(condition, self.value, self._of(other)))


def constant(number: float) -> ir.Value:
    """The same number in all lanes."""
    return ir.Constant(_FLOATS, [number] * LANES)


class Code:
    """What is generated for one call of an intrinsic."""

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> None:
        self.builder = builder
        self.arguments = arguments
        self.types = signature.args
        self._context = context

    def pointer(self, place: int) -> ir.Value:
        """Where the array that was given as this argument begins."""
        kind = self.types[place]
        return self._context.make_array(kind)(self._context, self.builder, self.arguments[place]).data

    def width(self, place: int) -> ir.Value:
        """The length of the last dimension of the array that was given as this argument."""
        kind = self.types[place]
        view = self._context.make_array(kind)(self._context, self.builder, self.arguments[place])
        return self.builder.extract_value(view.shape, kind.ndim - 1)

    def number(self, pointer: ir.Value, place: ir.Value) -> ir.Value:
        """One whole number of an index array, as 64 bits."""
        found = self.builder.load(self.builder.gep(pointer, [place]))
        return found if found.type == LONG else self.builder.sext(found, LONG)

    def load(self, pointer: ir.Value, place: ir.Value) -> Lanes:
        """The numbers from ``place`` on."""
        at = self.builder.bitcast(self.builder.gep(pointer, [place]), _FLOATS.as_pointer())
        return Lanes(self.builder, self.builder.load(at, align=4))

    def store(self, value: Lanes, pointer: ir.Value, place: ir.Value) -> None:
        at = self.builder.bitcast(self.builder.gep(pointer, [place]), _FLOATS.as_pointer())
        self.builder.store(value.value, at, align=4)

    def prefetch(self, pointer: ir.Value, place: ir.Value) -> None:
        """Ask memory for the numbers at ``place`` before they are needed."""
        word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        form = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(self.builder.module, form, "llvm.prefetch.p0")
        read, keep, data_cache = (ir.Constant(word, flag) for flag in (0, 3, 1))
        at = self.builder.bitcast(self.builder.gep(pointer, [place]), byte)
        self.builder.call(function, [at, read, keep, data_cache])

    def spread(self, scalar: ir.Value) -> Lanes:
        """The same number, known only when the code runs, in all lanes."""
        first = self.builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), scalar, ir.Constant(_INT, 0))
        places = ir.Constant(_INTS, [0] * LANES)
        return Lanes(self.builder, self.builder.shuffle_vector(first, ir.Constant(_FLOATS, ir.Undefined), places))

    def spread_at(self, pointer: ir.Value, place: ir.Value) -> Lanes:
        """One number of an array in all lanes."""
        return self.spread(self.builder.load(self.builder.gep(pointer, [place])))

    def fma(self, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
        """a b + c with one rounding."""
        form = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, form, f"llvm.fma.v{LANES}f32")
        return Lanes(self.builder, self.builder.call(function, [a.value, b.value, c.value]))

    def larger(self, a: Lanes, b: Lanes) -> Lanes:
        """The larger of two; either of them, or NaN, where one is NaN."""
        flags = ("nnan", "nsz")
        over = self.builder.fcmp_ordered(">", a.value, b.value, flags=flags)
        return Lanes(self.builder, self.builder.select(over, a.value, b.value, flags=flags))

    def exp(self, t: Lanes) -> Lanes:
        """``maths.exp``, for t from -87 to 88 alone."""
        rounded = t * _LOG2E + _ROUND
        k = rounded - _ROUND
        r = (t - k * _LN2_HIGH) - k * _LN2_LOW
        q = r * _EXP[0] + _EXP[1]
        for factor in _EXP[2:]:
            q = q * r + factor
        q = q * r * r + r
        shift, one = (ir.Constant(_INTS, [number] * LANES) for number in (23, 127 << 23))
        bits = self.builder.add(self.builder.shl(self.builder.bitcast(rounded.value, _INTS), shift), one)
        scale = Lanes(self.builder, self.builder.bitcast(bits, _FLOATS))
        return scale * q + scale

    def weight(self, t: Lanes) -> Lanes:
        """``maths.weight``: exp(t) for t <= 0, and 0 where it cannot matter beside a weight of 1."""
        return self.all(0.0).where(t.compare("<", _VANISHED), self.exp(t))  # NaN stays NaN

    def all(self, number: float) -> Lanes:
        """The same number in all lanes."""
        return Lanes(self.builder, constant(number))

    def variable(self, value: Lanes) -> "Variable":
        """A vector that a loop changes."""
        return Variable(self, value)

    def long(self, number: int) -> ir.Value:
        return ir.Constant(LONG, number)

    @contextmanager
    def loop(self, count: ir.Value) -> Iterator[ir.Value]:
        """What is generated within runs for 0, ..., count - 1."""
        with cgutils.for_range(self.builder, count, intp=LONG) as loop:
            yield loop.index


class Variable:
    """A vector in a register that a loop changes."""

    def __init__(self, code: Code, value: Lanes) -> None:
        self._code = code
        self._address = cgutils.alloca_once(code.builder, _FLOATS)
        self.set(value)

    def get(self) -> Lanes:
        return Lanes(self._code.builder, self._code.builder.load(self._address))

    def set(self, value: Lanes) -> None:
        self._code.builder.store(value.value, self._address)


@njit(inline="always")
def first_channel(block, channels):
    """Where a block begins; the last one overlaps that before it where the blocks do not come out even."""
    return min(block * LANES, channels - LANES)
