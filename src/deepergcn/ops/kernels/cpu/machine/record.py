"""A call that is written down: how a kernel that is compiled once runs on one thread or on many.

A loop over chunks in a ``prange`` of its own would contain the kernel once more, which takes as long again to compile.
Here each kernel begins with ``if chunk < 0: write_call(chunks); return``: called so, it writes its arguments into a
record, and one loop for all kernels, ``every_chunk``, then calls it for each chunk with these arguments.
"""

import operator
from collections.abc import Sequence

from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic

RECORD = 4096  # bytes of a record; a kernel takes about a thousand

_BYTE = ir.IntType(8).as_pointer()
_WORD = ir.IntType(64)
_AGAIN = ir.FunctionType(ir.VoidType(), [_BYTE, _WORD, _WORD])  # of the record, the chunk and the number of chunks
_RESULTS = 2  # places that a function of Numba takes for its results
_COUNTS = 2  # places of a kernel's chunk and chunks, which follow them


@intrinsic
def write_call(typing_context, address):
    """Write the call of the kernel in which this stands to the record at ``address``."""

    def generate(context, builder, signature, arguments):
        kernel = builder.function
        kept = kernel.args[_RESULTS + _COUNTS :]
        form = ir.LiteralStructType([_AGAIN.as_pointer(), *(each.type for each in kept)])
        if context.get_abi_sizeof(form) > RECORD:
            raise NotImplementedError(f"{kernel.name}: a record has no room for its arguments")
        record = builder.inttoptr(arguments[0], form.as_pointer())
        for place, value in enumerate((_again(kernel, form), *_uncounted(kept))):
            builder.store(value, cgutils.gep_inbounds(builder, record, 0, place))
        return context.get_dummy_value()

    return types.void(types.intp), generate


def _uncounted(values: Sequence[ir.Value]) -> list[ir.Value]:
    """The arguments without Numba's counts of references, which are gone when the record is read.

    Of an array they are the first two: the addresses of its count and of the Python object. No other two that follow
    each other are addresses of bytes.
    """
    count = [value.type == _BYTE for value in values]
    first = [one and two for one, two in zip(count, [*count[1:], False], strict=True)]
    second = [False, *first[:-1]]
    return [
        ir.Constant(_BYTE, None) if either else value
        for value, either in zip(values, map(operator.or_, first, second), strict=True)
    ]


def _again(kernel: ir.Function, form: ir.LiteralStructType) -> ir.Function:
    """A function beside the kernel that calls it for one chunk with the arguments of a record."""
    again = ir.Function(kernel.module, _AGAIN, f"{kernel.name}.again")
    again.linkage = "internal"
    builder = ir.IRBuilder(again.append_basic_block())
    record = builder.bitcast(again.args[0], form.as_pointer())
    results = [cgutils.alloca_once(builder, each.type.pointee) for each in kernel.args[:_RESULTS]]
    kept = [builder.load(cgutils.gep_inbounds(builder, record, 0, place)) for place in range(1, len(form.elements))]
    builder.call(kernel, [*results, *again.args[1:], *kept], attrs=("noinline",))
    builder.ret_void()
    return again


@intrinsic
def _call_again(typing_context, address, chunk, chunks):
    """Call the kernel of the record at ``address`` for one chunk."""

    def generate(context, builder, signature, arguments):
        address, chunk, chunks = arguments
        again = builder.load(builder.inttoptr(address, _AGAIN.as_pointer().as_pointer()))
        builder.call(again, [builder.inttoptr(address, _BYTE), chunk, chunks])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp), generate


def every_chunk(address, chunks):
    """All chunks of the call that is written at ``address``; to be compiled with ``parallel``."""
    for chunk in prange(chunks):
        _call_again(address, chunk, chunks)
