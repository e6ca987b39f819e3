"""Memory of large results, used again from layer to layer.

A network on a large graph makes tensors of the same size in every layer, each of which the C library takes from the
system and gives back: clearing the fresh pages takes a third of a training step. Here a tensor of 16 MB or more leaves
its memory to the next one of its size when it is freed. What has not been used again for a while is given back.

A lease lives as long as any tensor or array that shows its memory: NumPy's arrays keep it as their base, and torch's
tensors keep the array.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

LEAST = 1 << 24
"""Bytes of a result that is worth it; smaller ones come from the C library's own heap, which keeps them."""

_NUMPY: dict[torch.dtype, Any] = {torch.float32: np.float32, torch.float64: np.float64}
_IDLE = 100  # large results after which free memory that none of them has used is given back

Array = np.ndarray[Any, Any]


class _Free(NamedTuple):
    memory: Array
    since: int


class _Store:
    """The memory that is free, by its size, and how many large results have been made."""

    def __init__(self) -> None:
        self.free: dict[int, list[_Free]] = {}
        self.made = 0

    def take(self, size: int) -> Array:
        self.made += 1
        self._give_back()
        try:
            return self.free[size].pop().memory
        except (KeyError, IndexError):  # not asked before: another thread may take it in between
            return np.empty(size, np.uint8)

    def put(self, memory: Array) -> None:
        self.free.setdefault(memory.nbytes, []).append(_Free(memory, self.made))

    def _give_back(self) -> None:
        for size, blocks in list(self.free.items()):
            while blocks and blocks[0].since < self.made - _IDLE:  # the first have been free for longest
                del blocks[0]
            if not blocks:
                del self.free[size]


_store = _Store()


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
    """Whether a result of this shape, of the type and on the device of ``like``, is large enough and of a known type."""
    is_known = type(like) is Tensor and like.device.type == "cpu" and like.dtype in _NUMPY
    return is_known and math.prod(shape) * like.element_size() >= LEAST


def empty(like: Tensor, *shape: int) -> Tensor:
    """A tensor of this shape, of the type and on the device of ``like``, as ``like.new_empty`` makes it."""
    if not fits(like, *shape):
        return like.new_empty(shape)
    size = math.prod(shape) * like.element_size()
    return torch.from_numpy(np.asarray(_Lease(_store.take(size), _store)).view(_NUMPY[like.dtype]).reshape(shape))


def release() -> None:
    """Give back all that is free."""
    _store.free.clear()
