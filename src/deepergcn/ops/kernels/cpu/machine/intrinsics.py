"""The few machine instructions that Numba has no name for."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def float_from_bits(typing_context, bits):
    """The float32 whose bit pattern is this int32."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def bits_from_float(typing_context, value):
    """The bit pattern of a float32 as an int32."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic
def fma(typing_context, a, b, c):
    """a b + c with one rounding wherever it stands, so that forward and backward see the same message bit for bit."""

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return a(a, a, a), generate


@intrinsic
def larger(typing_context, a, b):
    """The larger of two numbers; either of them, or NaN, where one is NaN."""

    def generate(context, builder, signature, arguments):
        flags = ("nnan", "nsz")
        return builder.select(builder.fcmp_ordered(">", *arguments, flags=flags), *arguments, flags=flags)

    return a(a, a), generate


@intrinsic
def choose(typing_context, condition, a, b):
    """a where the condition holds, else b, plus 0.

    A number that is stored where another was read, or that one again, would become a store under a mask, which some
    processors execute very slowly. The sum with 0 keeps the compiler from it.
    """

    def generate(context, builder, signature, arguments):
        chosen = builder.select(*arguments)
        return builder.fadd(chosen, ir.Constant(chosen.type, 0.0))

    return a(types.boolean, a, a), generate


@intrinsic
def mixed(typing_context, bits):
    """Wellons' hash ``lowbias32`` of 32 bits, in 32 bits: Numba would compute it in 64, on half the lanes."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(32)
        h = arguments[0]
        for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
            h = builder.xor(h, builder.lshr(h, ir.Constant(word, shift)))
            h = builder.mul(h, ir.Constant(word, factor))
        return builder.xor(h, builder.lshr(h, ir.Constant(word, 16)))

    return types.uint32(types.uint32), generate


@intrinsic
def nth_key(typing_context, key, place):
    """key + place in 32 bits."""

    def generate(context, builder, signature, arguments):
        key, place = arguments
        return builder.add(key, builder.trunc(place, ir.IntType(32)))

    return types.uint32(types.uint32, types.intp), generate
