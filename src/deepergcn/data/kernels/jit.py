"""How the kernels of this room are compiled and shared out to threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from deepergcn.machine_code import compile_kernel, kernel_folder

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_FOLDER = kernel_folder(Path(__file__).parent)


def compiled(function: Kernel) -> Kernel:
    """Compile on first use and keep the machine code on disk, where there is a safe folder for it.

    The kernel runs on one thread and releases Python's lock.
    """
    kernel: Kernel = compile_kernel(function, _FOLDER)
    return kernel


def in_pieces(count: int, work: Callable[[int, int], None], piece: int = 1 << 20) -> None:
    """Call ``work(start, stop)`` for pieces of ``range(count)`` on as many threads as torch uses.

    The pieces are the same for any number of threads.
    """
    import torch  # here: processes that read molecules do without it, and start four times as fast

    starts = range(0, count, piece)
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        for done in [pool.submit(work, start, min(start + piece, count)) for start in starts]:
            done.result()
