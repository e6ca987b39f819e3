"""A kernel that writes its call down is called again for every chunk with the same arguments."""

import ctypes
import sys
from typing import Any

import numba
import numpy as np
import torch

from deepergcn.ops.kernels.cpu.machine.record import RECORD, every_chunk, write_call


@numba.njit
def add_up(chunk, chunks, rows, pair, scale, marks, out):  # type: ignore[no-untyped-def]
    if chunk < 0:
        write_call(chunks)
        return
    out[chunk] = scale * rows[chunk].sum() + pair[0][chunk] * pair[1][chunk] + marks[chunk] + chunks


def test_every_chunk_has_the_arguments_of_the_call() -> None:
    """Arrays of bytes among them, whose addresses look like those of the counts of references that are left out."""
    rows, out = np.arange(12.0).reshape(4, 3), np.zeros(4)
    pair = (np.arange(4, dtype=np.float32), np.arange(4, dtype=np.int64))
    marks = np.arange(4, dtype=np.uint8)
    arguments: tuple[Any, ...] = (rows, pair, 0.5, marks, out)
    held = [sys.getrefcount(array) for array in (rows, *pair, marks, out)]
    threads = torch.get_num_threads()
    in_parallel = numba.njit(parallel=True)(every_chunk)
    record = ctypes.create_string_buffer(RECORD)
    for _ in range(20):  # a count of references that is lowered too often ends the process
        out[:] = 0
        add_up(-1, ctypes.addressof(record), *arguments)
        assert not out.any()
        in_parallel(ctypes.addressof(record), 4)
        assert out.tolist() == [0.5 * rows[i].sum() + i * i + i + 4 for i in range(4)]
    torch.set_num_threads(threads)  # Numba's first parallel region has changed it
    assert [sys.getrefcount(array) for array in (rows, *pair, marks, out)] == held
