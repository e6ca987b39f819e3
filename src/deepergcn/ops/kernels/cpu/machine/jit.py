"""How kernels are compiled and started."""

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import torch

from deepergcn.machine_code import compile_kernel, kernel_folder
from deepergcn.ops.kernels.cpu.machine.record import RECORD, every_chunk

# Products and sums may fuse into one rounding. Nothing else is allowed: NaN and infinity stay what they are.
# A division by 0 gives infinity or NaN, as in NumPy: the check for it would stop a loop from vectorising.
_MATHS = {"fastmath": {"contract"}, "error_model": "numpy"}

# Of what kernels alone call: without wrappers for Python and C, which would be compiled for nothing.
INSIDE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
OPTIONS = {**_MATHS, **INSIDE}
LANES = {**OPTIONS, "fastmath": {"contract", "reassoc"}}  # for sums over a row's channels, taken in lanes

_workqueue = threading.Lock()


_FOLDER = kernel_folder(Path(__file__).parents[1])


def body(function: Callable[..., None]) -> Any:
    """What a kernel does for one chunk: ``function(chunk, chunks, ...)`` writes into the arrays that it is given.

    For a negative chunk it writes the call to a record instead; see :mod:`deepergcn.ops.kernels.cpu.machine.record`.
    """
    return compile_kernel(function, _FOLDER, **_MATHS)


def kernel(one_chunk: Any) -> Callable[..., None]:
    """The kernel with this body: compiled on first use, its machine code kept on disk, on as many threads as torch has.

    A single chunk, or a single thread, does not enter the loop in parallel: on a busy machine the start of a parallel
    region can wait for milliseconds.
    """

    def launch(chunks: int, *arguments: Any) -> None:
        given = torch.get_num_threads()
        threads = min(given, numba.config.NUMBA_NUM_THREADS)
        if threads == 1 or chunks == 1:
            one_after_another(one_chunk, chunks, arguments)
            return
        numba.set_num_threads(threads)
        record = ctypes.create_string_buffer(RECORD)
        address = ctypes.addressof(record)
        one_chunk(-1, address, *arguments)
        if _may_run_concurrently():
            _in_parallel(address, chunks)
        else:
            with _workqueue:
                _in_parallel(address, chunks)
        if torch.get_num_threads() != given:  # Numba's first parallel region gives torch all processors
            torch.set_num_threads(given)

    return launch


def one_after_another(one_chunk: Callable[..., None], chunks: int, arguments: tuple[Any, ...]) -> None:
    """All chunks on this thread, in order; tests put another order or several threads in its place."""
    for chunk in range(chunks):
        one_chunk(chunk, chunks, *arguments)


def _may_run_concurrently() -> bool:
    """Numba's workqueue layer, the last resort where OpenMP and TBB are missing, aborts when two threads enter it."""
    try:
        return bool(numba.threading_layer() != "workqueue")
    except ValueError:  # no kernel has run yet, so that the layer is still unknown
        return False


_in_parallel = compile_kernel(every_chunk, _FOLDER, parallel=True)
