"""Memory of large results, used again from layer to layer.

A network on a large graph makes tensors of the same size in every layer, each of which the C library takes from the
system and gives back: clearing the fresh pages takes a third of a training step. Here a tensor of 16 MB or more leaves
its memory to the next one of its size when it is freed.

Before memory of another size is taken from the system, as much of what is free is given back to it, so that batches of
ever other sizes take no more than what they need at once. What has been free for a minute is given back with the next
large result, or when Python collects garbage.

A lease lives as long as any tensor or array that shows its memory: NumPy's arrays keep it as their base, and torch's
tensors keep the array. It ends wherever the last of them does, even in the middle of a function of the store, on any
thread: nothing here holds a lock, and a block that two threads give back at once is given back once.
"""

import gc
import math
import time
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

LEAST = 1 << 24
"""Bytes of a result that is worth it; smaller ones come from the C library's own heap, which keeps them."""

_NUMPY: dict[torch.dtype, Any] = {torch.float32: np.float32, torch.float64: np.float64}
_IDLE = 60.0  # seconds after which free memory is given back

Array = np.ndarray[Any, Any]


class _Free(NamedTuple):
    memory: Array
    since: float


class _Store:
    """The memory that is free, by its size, what has been free for longest first."""

    def __init__(self) -> None:
        self.free: dict[int, list[_Free]] = {}

    def take(self, size: int) -> Array:
        self.give_back_idle()
        try:
            return self.free[size].pop().memory
        except (KeyError, IndexError):  # not asked before: another thread may take it in between
            self._give_back(size)
            return np.empty(size, np.uint8)

    def put(self, memory: Array) -> None:
        self.free.setdefault(memory.nbytes, []).append(_Free(memory, time.monotonic()))

    def give_back_idle(self) -> None:
        """Give back what has been free for too long."""
        idle = time.monotonic() - _IDLE
        for size, blocks in list(self.free.items()):
            while _since(blocks) < idle:
                self._drop_first(size, blocks)

    def _give_back(self, size: int) -> None:
        """Give back at least so many bytes, if they are free: what has been free for longest first."""
        while size > 0 and (free := list(self.free.items())):
            oldest, blocks = min(free, key=lambda item: _since(item[1]))
            self._drop_first(oldest, blocks)
            size -= oldest

    def _drop_first(self, size: int, blocks: list[_Free]) -> None:
        del blocks[:1]
        if not blocks:
            self.free.pop(size, None)


def _since(blocks: list[_Free]) -> float:
    """Since when the first block has been free; without one, a time that does not come."""
    return next((block.since for block in blocks), math.inf)


_store = _Store()


def _when_collected(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and _store.free:
        _store.give_back_idle()


gc.callbacks.append(_when_collected)


class _Lease:
    """Memory of the store, which it gets back with the last array that shows it."""

    def __init__(self, memory: Array, store: _Store) -> None:
        self._memory, self._store = memory, store

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._memory.__array_interface__

    def __del__(self) -> None:
        self._store.put(self._memory)


def fits(like: Tensor, *shape: int) -> bool:
    """Whether a result of this shape, of the type and on the device of ``like``, is large and of a known type."""
    is_dense = type(like) is Tensor and like.layout == torch.strided and like.device.type == "cpu"
    return is_dense and like.dtype in _NUMPY and math.prod(shape) * like.element_size() >= LEAST


def empty(like: Tensor, *shape: int) -> Tensor:
    """A tensor of this shape, of the type and on the device of ``like``, as ``like.new_empty`` makes it."""
    if not fits(like, *shape):
        return like.new_empty(shape)
    size = math.prod(shape) * like.element_size()
    return torch.from_numpy(np.asarray(_Lease(_store.take(size), _store)).view(_NUMPY[like.dtype]).reshape(shape))


def release() -> None:
    """Give back all that is free."""
    _store.free.clear()
