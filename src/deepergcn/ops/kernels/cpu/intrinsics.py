"""The few machine instructions that Numba has no name for."""

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

WIDEST = 1024  # channels that a kernel takes at once: its working rows live on the stack
MOST_FEATURES = 64  # raw edge features of an affine edge term
_CACHED = 6144  # numbers that leave room in a 32 KiB cache


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


@intrinsic
def _prefetch_at(typing_context, array, offset):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.gep(data, [arguments[1]])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
        read, keep, data_cache = (ir.Constant(word, flag) for flag in (0, 3, 1))
        builder.call(function, [builder.bitcast(address, byte), read, keep, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@njit(inline="always")
def _prefetch(array, row, width):
    start = np.intp(row) * width
    for offset in range(0, width, 16):
        _prefetch_at(array, start + offset)


@njit(inline="always")
def prefetch_row(array, row):
    """Ask for a row of a C-contiguous array before it is needed; a random gather waits for memory otherwise."""
    _prefetch(array, row, array.shape[1])


@njit(inline="always")
def prefetch_pair(pairs, row):
    """As ``prefetch_row`` for an array [rows, 1 or 2, width]: both rows of a pair."""
    _prefetch(pairs, row, pairs.shape[1] * pairs.shape[2])


@njit(inline="always")
def prefetch_item(array, index):
    """Ask for one number of a C-contiguous array, given its place in the flattened array."""
    _prefetch_at(array, np.intp(index))


def _stack(count):
    """An intrinsic that makes room for ``count`` numbers of an array's type in the calling function's own frame.

    The compiler knows that nothing else points there. Rows from the heap would have to be checked against every other
    row before each loop, which costs more than a loop over 64 channels itself.
    """

    @intrinsic
    def room(typing_context, like):
        def generate(context, builder, signature, arguments):
            number = context.get_value_type(like.dtype)
            address = cgutils.alloca_once(builder, number, size=ir.Constant(ir.IntType(64), count))
            address.align = 64
            return address

        return types.CPointer(like.dtype)(like), generate

    return room


_row_room = _stack(WIDEST)
_cached_room = _stack(_CACHED)
_sums_room = _stack(WIDEST * (MOST_FEATURES + 2))


@njit(inline="always")
def working_row(like, channels):
    """A row of numbers of the type of ``like``."""
    return carray(_row_room(like), (channels,))


@njit(inline="always")
def working_rows(like, channels):
    """As many rows as stay in the cache; at least two."""
    return carray(_cached_room(like), (_CACHED // channels, channels))


@njit(inline="always")
def sum_rows(like, count, channels):
    """Rows of zeros for the sums over edges that a backward keeps beside dx."""
    rows = carray(_sums_room(like), (count, channels))
    rows[:] = 0
    return rows
