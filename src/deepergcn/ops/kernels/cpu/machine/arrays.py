"""Arrays in kernels: rows asked for ahead, views without a count of references, and working rows on the stack."""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

WIDEST = 1024  # channels that a kernel takes at once: its working rows live on the stack
MOST_FEATURES = 64  # raw edge features of an affine edge term
AT_ONCE = 8  # of these features, whose products are added in one pass, the missing ones as 0
_CACHED = 6144  # numbers that leave room in a 32 KiB cache


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


def _array(context, builder, kind, data, *shape):
    """A C-contiguous array of this type at ``data``, which Numba does not count the references of.

    This is Numba's ``carray``, and all that returns an array is written for LLVM: Numba itself would take a second
    longer over a kernel that calls a function for each.
    """
    made = context.make_array(kind)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    steps = [ir.Constant(ir.IntType(64), size)]
    for length in reversed(shape[1:]):
        steps.insert(0, builder.mul(steps[0], length))
    populate_array(made, data=data, shape=shape, strides=steps, itemsize=size, meminfo=None)
    return made._getvalue()


def _plain(array, dimensions):
    return types.Array(array.dtype, dimensions, "C")


@intrinsic
def row_of(typing_context, array, row):
    """A row of a C-contiguous array [rows, width]."""
    kind = _plain(array, 1)

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = builder.extract_value(view.shape, 1)
        return _array(context, builder, kind, builder.gep(view.data, [builder.mul(arguments[1], width)]), width)

    return kind(array, types.intp), generate


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
def either(typing_context, condition, a, b):
    """The row a where the condition holds, else b, which is as long. Numba would warn of a branch."""

    def generate(context, builder, signature, arguments):
        first, second = (context.make_array(a)(context, builder, row) for row in arguments[1:])
        data = builder.select(arguments[0], first.data, second.data)
        return _array(context, builder, a, data, builder.extract_value(first.shape, 0))

    return a(types.boolean, a, a), generate


@intrinsic
def bare(typing_context, arrays):
    """The same C-contiguous array, or tuple of them, without Numba's count of references.

    Otherwise every edge would raise and lower the counts of what it reads, which takes longer than its arithmetic.
    """
    single = isinstance(arrays, types.Array)
    kinds = [_plain(kind, kind.ndim) for kind in ([arrays] if single else arrays)]
    result = kinds[0] if single else types.Tuple(kinds)

    def generate(context, builder, signature, arguments):
        given = arguments if single else cgutils.unpack_tuple(builder, arguments[0])
        made = []
        for kind, value in zip(kinds, given, strict=True):
            view = context.make_array(kind)(context, builder, value)
            made.append(_array(context, builder, kind, view.data, *cgutils.unpack_tuple(builder, view.shape)))
        return made[0] if single else context.make_tuple(builder, result, made)

    return result(arrays), generate


def _room(context, builder, kind, count):
    """Room for ``count`` numbers in the calling function's own frame.

    The compiler knows that nothing else points there. Rows from the heap would have to be checked against every other
    row before each loop, which costs more than a loop over 64 channels itself.
    """
    number = context.get_value_type(kind.dtype)
    address = cgutils.alloca_once(builder, number, size=ir.Constant(ir.IntType(64), count))
    address.align = 64
    return address


@intrinsic
def working_row(typing_context, like, channels):
    """A row of numbers of the type of ``like``."""
    kind = _plain(like, 1)

    def generate(context, builder, signature, arguments):
        return _array(context, builder, kind, _room(context, builder, kind, WIDEST), arguments[1])

    return kind(like, types.intp), generate


@intrinsic
def working_rows(typing_context, like, channels):
    """As many rows as stay in the cache; at least two."""
    kind = _plain(like, 2)

    def generate(context, builder, signature, arguments):
        channels = arguments[1]
        one = ir.Constant(channels.type, 1)
        divisor = builder.select(builder.icmp_signed("<", channels, one), one, channels)
        rows = builder.sdiv(ir.Constant(channels.type, _CACHED), divisor)
        return _array(context, builder, kind, _room(context, builder, kind, _CACHED), rows, channels)

    return kind(like, types.intp), generate


@intrinsic
def sum_rows(typing_context, like, count, channels):
    """Rows of zeros for the sums over edges that a backward keeps beside dx."""
    kind = _plain(like, 2)

    def generate(context, builder, signature, arguments):
        address = _room(context, builder, kind, WIDEST * (MOST_FEATURES + 2))
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        numbers = builder.mul(*arguments[1:])
        cgutils.memset(builder, address, builder.mul(numbers, ir.Constant(numbers.type, size)), 0)
        return _array(context, builder, kind, address, *arguments[1:])

    return kind(like, types.intp, types.intp), generate


@intrinsic
def block_rows(typing_context, like, count, width):
    """Rows for blocks of channels: at most 2 ``AT_ONCE`` for every ``width`` of the widest."""
    kind = _plain(like, 2)

    def generate(context, builder, signature, arguments):
        room = _room(context, builder, kind, WIDEST * 2 * AT_ONCE)
        return _array(context, builder, kind, room, *arguments[1:])

    return kind(like, types.intp, types.intp), generate
