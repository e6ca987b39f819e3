"""Cache the Adjacency of an ``edge_index``, so that layers with the same tensor share it."""

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch
from torch import Tensor

from deepergcn.ops import Adjacency, as_adjacency
from deepergcn.ops.operators.device import is_supported

_LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)

ENTRIES = 4
"""The number of entries per tensor, which may have several views."""


class _Version(NamedTuple):
    """What tells on a GPU whether numbers have changed."""

    memory: int
    changes: int


class _Entry(NamedTuple):
    """A structure, with a copy of the numbers that it was made from, or their version."""

    numbers: tuple[Tensor, ...] | _Version
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
    or another process. The comparison takes a small fraction of the time of a layer. On a GPU it would have to be
    waited for in every layer; there the version counter decides, as it does for autograd.
    """
    if torch.compiler.is_compiling() or not is_supported(tensor) or tensor.layout not in _LAYOUTS:
        return build()
    owner = tensor if tensor._base is None else tensor._base
    numbers = _numbers(tensor)
    key = (kind, _stream(tensor), tensor.layout, *((n.storage_offset(), tuple(n.shape), n.stride()) for n in numbers))
    with _lock:
        entry = _known.get(id(owner), {}).get(key)
    version = _version(tensor)
    if entry is not None and _is_same(entry.numbers, numbers if version is None else version):
        return entry.adjacency
    # first, so that a change during the build is noticed next time
    then = tuple(n.clone() for n in numbers) if version is None else version
    adjacency = build()
    with _lock:
        if id(owner) not in _known:
            _known[id(owner)] = {}
            weakref.finalize(owner, _known.pop, id(owner), None)
        entries = _known[id(owner)]
        entries.pop(key, None)
        while len(entries) >= ENTRIES:
            entries.pop(next(iter(entries)))
        entries[key] = _Entry(then, adjacency)
    return adjacency


def _stream(tensor: Tensor) -> int:
    """The stream of a GPU that works on the tensor: what one has queued is not yet there for another."""
    return torch.cuda.current_stream(tensor.device).cuda_stream if tensor.device.type == "cuda" else 0


def _version(tensor: Tensor) -> _Version | None:
    """The version of a GPU's numbers; the tensors of inference mode count no changes."""
    if tensor.device.type == "cpu" or tensor.layout != torch.strided or tensor.is_inference():
        return None
    return _Version(tensor.data_ptr(), tensor._version)


def _is_same(then: tuple[Tensor, ...] | _Version, now: tuple[Tensor, ...] | _Version) -> bool:
    if isinstance(then, _Version) or isinstance(now, _Version):
        return type(then) is type(now) and then == now
    return all(map(torch.equal, then, now))


def _numbers(tensor: Tensor) -> tuple[Tensor, ...]:
    """The indices: the tensor itself, or the indices of a sparse one."""
    if tensor.layout == torch.sparse_coo:
        return (tensor._indices(),)
    if tensor.layout == torch.sparse_csr:
        return tensor.crow_indices(), tensor.col_indices()
    if tensor.layout == torch.sparse_csc:
        return tensor.ccol_indices(), tensor.row_indices()
    return (tensor if type(tensor) is Tensor else tensor.as_subclass(Tensor),)
