"""Cache the Adjacency of an ``edge_index``, so that layers with the same tensor share it."""

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch
from torch import Tensor

from deepergcn.ops import Adjacency, as_adjacency
from deepergcn.ops.operators.device import is_supported

ENTRIES = 4
"""The number of entries per tensor, which may have several views."""


class _Entry(NamedTuple):
    numbers: tuple[Tensor, ...]
    adjacency: Adjacency


_known: dict[int, dict[Hashable, _Entry]] = {}
"""Entries by id of the tensor that owns the memory; an entry does not outlive that tensor."""

_lock = threading.Lock()


def cached_adjacency(graph: Tensor | Adjacency, num_sources: int, num_targets: int) -> Adjacency:
    """``as_adjacency``, built only once for the same tensor with the same content."""
    if not isinstance(graph, Tensor):
        return as_adjacency(graph, num_sources, num_targets)
    return _recall(graph, (num_sources, num_targets), lambda: as_adjacency(graph, num_sources, num_targets))


def cached_grouping(index: Tensor, num_groups: int) -> Adjacency:
    """The graph that sends row e to group ``index[e]``: one source and one edge per row."""

    def build() -> Adjacency:
        rows = torch.arange(len(index), device=index.device)
        return Adjacency.from_edge_index(torch.stack([rows, index.long()]), (len(index), num_groups))

    return _recall(index, ("grouping", num_groups), build)


def _recall(tensor: Tensor, kind: Hashable, build: Callable[[], Adjacency]) -> Adjacency:
    """The cached result of ``build`` for this tensor, if its content has not changed.

    The content is compared with a copy: torch's version counter does not see writes through ``.data``, a NumPy array
    or another process. The comparison takes a small fraction of the time of a layer.
    """
    if torch.compiler.is_compiling() or not is_supported(tensor):
        return build()
    owner = tensor if tensor._base is None else tensor._base
    numbers = _numbers(tensor)
    key = (kind, tensor.layout, *((n.storage_offset(), tuple(n.shape), n.stride()) for n in numbers))
    with _lock:
        entry = _known.get(id(owner), {}).get(key)
    if entry is not None and all(map(torch.equal, entry.numbers, numbers)):
        return entry.adjacency
    copies = tuple(n.clone() for n in numbers)  # first, so that a change during the build is noticed next time
    adjacency = build()
    with _lock:
        if id(owner) not in _known:
            _known[id(owner)] = {}
            weakref.finalize(owner, _known.pop, id(owner), None)
        entries = _known[id(owner)]
        entries.pop(key, None)
        while len(entries) >= ENTRIES:
            entries.pop(next(iter(entries)))
        entries[key] = _Entry(copies, adjacency)
    return adjacency


def _numbers(tensor: Tensor) -> tuple[Tensor, ...]:
    """The indices: the tensor itself, or the indices of a sparse one."""
    if tensor.layout == torch.sparse_coo:
        return (tensor._indices(),)
    if tensor.layout == torch.sparse_csr:
        return tensor.crow_indices(), tensor.col_indices()
    if tensor.layout == torch.sparse_csc:
        return tensor.ccol_indices(), tensor.row_indices()
    return (tensor if type(tensor) is Tensor else tensor.as_subclass(Tensor),)
