"""Vectors of ``LANES`` float32 numbers, written for LLVM: what a loop over edges does to so many channels.

LLVM's own vectorization takes one edge and all channels at a time: every edge reads and writes the sums of its vertex,
and reads the weights of the edge term, in memory. With these vectors the loop over the edges of a vertex is inside one
over blocks of channels, and whatever belongs to the vertex or to the channels stays in registers. LLVM divides the
vectors into those that the processor has.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils

LANES = 16
_FUSED = ("contract",)  # products and sums may fuse into one rounding, as in all kernels
LONG = ir.IntType(64)
_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)

_LOG2E, _LN2_HIGH, _LN2_LOW = 1.44269504088896341, 0.693359375, -2.12194440e-4  # as in maths
LN2 = 0.693147180559945309
_ROUND = 1.5 * 2**23
_VANISHED = -70.0
VANISHED_ROOT = _VANISHED * _LOG2E / 2  # the power of two that is the root of exp of it
_SMALLEST = 2.0**-126
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_LOG2 = (  # of log2(1 + r) / r, for 1 + r from sqrt(1/2) to sqrt(2), within half a unit in the last place
    0.125837042927742,
    -0.20726974308490753,
    0.21571560204029083,
    -0.23894481360912323,
    0.28791624307632446,
    -0.3607036769390106,
    0.48091062903404236,
    -0.7213473320007324,
    1.4426950216293335,
)
_EXP2 = (  # of (2^f - 1) / f, for f from -1/2 to 1/2, within an eighth
    0.0001546973508084193,
    0.0013390866806730628,
    0.009618030861020088,
    0.055503569543361664,
    0.24022650718688965,
    0.6931471824645996,
)
_HALF_ROOT = 0x3F3504F3  # the bits of sqrt(1/2)
_EXCESS = tuple((k + 1) / math.factorial(k + 2) for k in range(8, -1, -1))


class Lanes:
    """A vector while code is generated: +, -, * and comparisons generate instructions."""

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder, self.value = builder, value

    def _of(self, other: "Lanes | float") -> ir.Value:
        return other.value if isinstance(other, Lanes) else constant(other)

    def __add__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fadd(self.value, self._of(other), flags=_FUSED))

    def __sub__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fsub(self.value, self._of(other), flags=_FUSED))

    def __mul__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fmul(self.value, self._of(other), flags=_FUSED))

    def __truediv__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.builder, self.builder.fdiv(self.value, other.value))

    def compare(self, sign: str, other: "Lanes | float") -> ir.Value:
        """Where the comparison holds; nowhere for NaN."""
        return self.builder.fcmp_ordered(sign, self.value, self._of(other))

    def where(self, condition: ir.Value, other: "Lanes | float") -> "Lanes":
        """These numbers where the condition holds, else the others."""
        return Lanes(self.builder, self.builder.select(condition, self.value, self._of(other)))


def _whole(number: int) -> ir.Value:
    return ir.Constant(_INTS, [number] * LANES)


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

    def spread_count(self, count: ir.Value) -> Lanes:
        """A whole number, known only when the code runs, in all lanes."""
        return self.spread(self.builder.sitofp(count, _FLOAT))

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
        scale, q = self._exp_parts(t)
        return scale * q + scale

    def _exp_parts(self, t: Lanes) -> tuple[Lanes, Lanes]:
        """``maths._exp_parts``: (2^k, q) with exp(t) = 2^k (1 + q)."""
        rounded = t * _LOG2E + _ROUND
        k = rounded - _ROUND
        r = (t - k * _LN2_HIGH) - k * _LN2_LOW
        q = self._polynomial(_EXP, r) * r * r + r
        bits = self.builder.add(self.builder.shl(self._bits(rounded), _whole(23)), _whole(127 << 23))
        return self._from_bits(bits), q

    def log2_parts(self, v: Lanes) -> tuple[Lanes, Lanes]:
        """(k, y) with log2(v) = k + y, k a whole number and |y| <= 1/2; k is -inf for 0, inf for inf, else NaN."""
        b = self.builder
        k, y = (self.variable(part) for part in self._log2_parts(v))
        normal = b.icmp_unsigned("<", b.sub(self._bits(v), _whole(1 << 23)), _whole(254 << 23))
        with b.if_then(b.not_(self.everywhere(normal)), likely=False):
            tiny = v.compare("<", _SMALLEST)
            whole, rest = self._log2_parts((v * 2.0**24).where(tiny, v))
            inside = b.and_(v.compare(">", 0.0), v.compare("<", math.inf))
            at_the_ends = v.where(v.compare("==", math.inf), self.all(-math.inf).where(v.compare("==", 0.0), math.nan))
            k.set((whole - 24.0).where(tiny, whole).where(inside, at_the_ends))
            y.set(rest.where(inside, 0.0))
        return k.get(), y.get()

    def _log2_parts(self, v: Lanes) -> tuple[Lanes, Lanes]:
        """The same for normal numbers."""
        b = self.builder
        above = b.sub(self._bits(v), _whole(_HALF_ROOT))
        k = Lanes(b, b.sitofp(b.ashr(above, _whole(23)), _FLOATS))
        one_over_power = self._from_bits(b.sub(_whole(127 << 23), b.and_(above, _whole(-1 << 23))))
        r = v * one_over_power - 1.0
        return k, self._polynomial(_LOG2, r) * r

    def exp2_pair(self, t: Lanes) -> tuple[Lanes, Lanes]:
        """(2^t, 2^t - 1) for t <= 127, the second without cancellation near 0."""
        scale, q = self._exp2_parts(self.all(-126.0).where(t.compare("<", -126.0), t))
        return scale * q + scale, scale * q + (scale - 1.0)

    def root_of_exp2(self, half: Lanes, lowest: float) -> Lanes:
        """2^half, whose square times a number is in range wherever the product is; 0 below ``lowest`` >= -126."""
        scale, q = self._exp2_parts(self.all(126.0).where(half.compare(">", 126.0), half))
        return self.all(0.0).where(half.compare("<", lowest), scale * q + scale)

    def _exp2_parts(self, t: Lanes) -> tuple[Lanes, Lanes]:
        """(2^k, q) with 2^t = 2^k (1 + q), for t from -126 to 127."""
        rounded = t + _ROUND
        f = t - (rounded - _ROUND)
        bits = self.builder.add(self.builder.shl(self._bits(rounded), _whole(23)), _whole(127 << 23))
        return self._from_bits(bits), self._polynomial(_EXP2, f) * f

    def log_of_normal(self, v: Lanes) -> Lanes:
        """ln(v) for a normal number v > 0, NaN for NaN."""
        k, y = self._log2_parts(v)
        return (k + y) * LN2

    def excess(self, away: Lanes, t: Lanes, power: Lanes, inverse: Lanes) -> Lanes:
        """away^2 ``maths.excess(t)`` for t = p away, exp(t) and 1 / p."""
        near = self.builder.and_(t.compare(">=", -0.5), t.compare("<=", 0.5))
        far = ((t - 1.0) * power + 1.0) * inverse * inverse
        return (self._polynomial(_EXCESS, t) * away * away).where(near, far)

    def _polynomial(self, factors: Sequence[float], r: Lanes) -> Lanes:
        """By Horner's rule, the highest power first."""
        q = r * factors[0] + factors[1]
        for factor in factors[2:]:
            q = q * r + factor
        return q

    def _bits(self, v: Lanes) -> ir.Value:
        return self.builder.bitcast(v.value, _INTS)

    def _from_bits(self, bits: ir.Value) -> Lanes:
        return Lanes(self.builder, self.builder.bitcast(bits, _FLOATS))

    def weight(self, t: Lanes) -> Lanes:
        """``maths.weight``: exp(t) for t <= 0, and 0 where it cannot matter beside a weight of 1."""
        return self.all(0.0).where(t.compare("<", _VANISHED), self.exp(t))  # NaN stays NaN

    def everywhere(self, condition: ir.Value) -> ir.Value:
        """Whether the condition holds in all lanes."""
        bits = ir.IntType(LANES)
        return self.builder.icmp_unsigned("==", self.builder.bitcast(condition, bits), ir.Constant(bits, -1))

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


def block_row(c: Code, block: ir.Value, rows: int, row: int) -> ir.Value:
    """Where a row of a block begins in an array [blocks, rows, LANES]."""
    b = c.builder
    return b.mul(b.add(b.mul(block, c.long(rows)), c.long(row)), c.long(LANES))


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
