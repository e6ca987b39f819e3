"""How the kernels of this room are compiled and shared out to threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numba
import torch

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Compile on first use and keep the machine code on disk, where a folder for it can be written.

    The kernel runs on one thread and lets go of Python's lock. Numba notices a change in the file of a kernel, not in
    other files that it calls; so each file of kernels stands for itself.
    """
    try:
        kernel: Kernel = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        kernel = numba.njit(nogil=True)(function)
    return kernel


def in_pieces(count: int, work: Callable[[int, int], None], piece: int = 1 << 20) -> None:
    """Call ``work(start, stop)`` for pieces of ``range(count)`` on as many threads as torch uses.

    The pieces are the same for any number of threads.
    """
    starts = range(0, count, piece)
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        for done in [pool.submit(work, start, min(start + piece, count)) for start in starts]:
            done.result()
