"""Give back what glibc's heap has freed, while a deep network passes large tensors from layer to layer.

A layer frees most of what it allocates, but what it keeps for backward lies between: the heap grows around holes, to
several times the size of the tensors in it. ``malloc_trim`` returns the pages of the holes to the system. It is called
after a fixed number of bytes of features has passed through aggregations, and never takes more than a fiftieth of the
time. On systems other than Linux with glibc it does nothing.

Predictions are another matter: they keep nothing, and take the same sizes for batch after batch. There the heap does
best to keep what is freed, since pages that are given back and taken again cost a sixth of the time.
"""

import ctypes
import functools
import sys
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")

_LEAST = 1 << 20  # bytes of features; smaller tensors leave small holes
_BETWEEN = 1 << 25  # bytes of features between two calls
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt
_KEPT, _FROM_HEAP = 1 << 28, 1 << 25  # bytes at the heap's end that it keeps, and of a block that it has room for
_SHARE = 50  # a call waits until this multiple of its own duration has passed


class _Heap:
    """How many bytes have passed since the last call, and when the next one may be."""

    def __init__(self, trim: Callable[[int], int] | None) -> None:
        self.trim = trim
        self.passed = 0
        self.next = 0.0

    def take(self, size: int) -> None:
        """``size`` bytes of features have passed."""
        if self.trim is None or size < _LEAST:
            return
        self.passed += size
        start = time.perf_counter()
        if self.passed < _BETWEEN or start < self.next:
            return
        self.passed = 0
        self.trim(0)
        end = time.perf_counter()
        self.next = end + _SHARE * (end - start)


def _malloc_trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return trim


_heap = _Heap(_malloc_trim())


@functools.cache
def keep_freed() -> bool:
    """Let the heap of this process keep up to 256 MB that are freed, for blocks of up to 32 MB; whether it could."""
    if not sys.platform.startswith("linux"):
        return False
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is None:
        return False
    option.argtypes, option.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    return bool(option(_TRIM_THRESHOLD, _KEPT)) and bool(option(_MMAP_THRESHOLD, _FROM_HEAP))


def gives_back(operator: Callable[P, R]) -> Callable[P, R]:
    """The same function of tensors, the first of which is as large as the features; holes of the heap are given back
    from time to time before it runs.
    """

    @functools.wraps(operator)
    def giving_back(*arguments: P.args, **named: P.kwargs) -> R:
        features = arguments[0]
        if isinstance(features, Tensor):
            _heap.take(features.numel() * features.element_size())
        return operator(*arguments, **named)

    return giving_back
