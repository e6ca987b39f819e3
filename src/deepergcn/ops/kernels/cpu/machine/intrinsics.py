"""The few machine instructions that Numba has no name for."""

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

WIDEST = 1024  # channels that a kernel takes at once: its working rows live on the stack
MOST_FEATURES = 64  # raw edge features of an affine edge term
AT_ONCE = 8  # of these features, whose products are added in one pass, the missing ones as 0
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


@intrinsic
def _address(typing_context, array, row):
    """Where a row of a C-contiguous array begins, given its place among all rows."""

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = builder.extract_value(view.shape, signature.args[0].ndim - 1)
        return builder.gep(view.data, [builder.mul(arguments[1], width)])

    return types.CPointer(array.dtype)(array, types.intp), generate


@njit(inline="always")
def row_of(array, row):
    """A row of a C-contiguous array [rows, width]."""
    return carray(_address(array, np.intp(row)), (array.shape[1],))


@intrinsic
def first_numbers(typing_context, array, row):
    """The first ``AT_ONCE`` numbers of a row of a C-contiguous array, with 0 for those beyond its end.

    This and ``add_products`` are written for LLVM, since Numba itself would take seconds over so many indices.
    """
    numbers = types.UniTuple(array.dtype, AT_ONCE)

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = builder.extract_value(view.shape, 1)
        begin = builder.gep(view.data, [builder.mul(arguments[1], width)])
        values = []
        for k in range(AT_ONCE):
            place = ir.Constant(width.type, k)
            there = builder.icmp_signed("<", place, width)
            value = builder.load(builder.gep(begin, [builder.select(there, place, ir.Constant(width.type, 0))]))
            values.append(builder.select(there, value, ir.Constant(value.type, 0.0)))
        return context.make_tuple(builder, numbers, values)

    return numbers(array, types.intp), generate


@intrinsic
def add_products(typing_context, row, weight, bias, numbers, j):
    """row[j] + bias[j] + sum_k numbers[k] weight[k, j], each product added with one rounding, in order."""

    def generate(context, builder, signature, arguments):
        arrays = zip(signature.args[:3], arguments[:3], strict=True)
        start, factors, shift = (context.make_array(kind)(context, builder, value) for kind, value in arrays)
        numbers, place = arguments[3], arguments[4]
        width = builder.extract_value(factors.shape, 1)
        total = builder.fadd(*(builder.load(builder.gep(array.data, [place])) for array in (start, shift)))
        for k in range(AT_ONCE):
            at = builder.add(place, builder.mul(width, ir.Constant(width.type, k)))
            factor = builder.load(builder.gep(factors.data, [at]))
            total = builder.fma(builder.extract_value(numbers, k), factor, total)
        return total

    return row.dtype(row, weight, bias, numbers, types.intp), generate


@intrinsic
def _either_address(typing_context, condition, a, b):
    def generate(context, builder, signature, arguments):
        condition, *rows = arguments
        of = context.make_array(signature.args[1])
        return builder.select(condition, *(of(context, builder, row).data for row in rows))

    return types.CPointer(a.dtype)(types.boolean, a, a), generate


@njit(inline="always")
def either(condition, a, b):
    """The row a where the condition holds, else b, which is as long. Numba would warn of a branch."""
    return carray(_either_address(condition, a, b), a.shape)


def bare(arrays):
    """The same C-contiguous array, or tuple of them, without Numba's count of references.

    Otherwise every edge would raise and lower the counts of what it reads, which takes longer than its arithmetic.
    """
    raise NotImplementedError


@overload(bare, inline="always")
def _bare(arrays):
    if isinstance(arrays, types.Array):
        return lambda arrays: carray(_address(arrays, 0), arrays.shape)
    return {
        0: lambda arrays: arrays,
        1: lambda arrays: (bare(arrays[0]),),
        2: lambda arrays: (bare(arrays[0]), bare(arrays[1])),
        3: lambda arrays: (bare(arrays[0]), bare(arrays[1]), bare(arrays[2])),
        4: lambda arrays: (bare(arrays[0]), bare(arrays[1]), bare(arrays[2]), bare(arrays[3])),
        5: lambda arrays: (bare(arrays[0]), bare(arrays[1]), bare(arrays[2]), bare(arrays[3]), bare(arrays[4])),
    }[len(arrays)]


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
_block_room = _stack(WIDEST * 2 * AT_ONCE)


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


@njit(inline="always")
def block_rows(like, count, width):
    """Rows for blocks of channels: at most 2 ``AT_ONCE`` for every ``width`` of the widest."""
    return carray(_block_room(like), (count, width))
