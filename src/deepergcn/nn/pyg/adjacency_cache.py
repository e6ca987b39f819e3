"""The Adjacency of a tensor that was seen before: layers that are given the same ``edge_index`` share one."""

import weakref
from collections.abc import Callable, Hashable

import torch
from torch import Tensor

from deepergcn.ops import Adjacency, as_adjacency

ENTRIES = 4
"""So many are kept for one piece of memory, which may have several views."""

_known: dict[int, dict[Hashable, Adjacency]] = {}
"""By the id of the tensor that owns the memory; what is known of a tensor goes when the tensor goes."""


def cached_adjacency(graph: Tensor | Adjacency, num_sources: int, num_targets: int) -> Adjacency:
    """As ``as_adjacency``, but built only once for the same tensor."""
    if isinstance(graph, Adjacency):
        return as_adjacency(graph, num_sources, num_targets)
    return _recall(graph, (num_sources, num_targets), lambda: as_adjacency(graph, num_sources, num_targets))


def cached_grouping(index: Tensor, num_groups: int) -> Adjacency:
    """Row e goes to group ``index[e]``: the graph of as many sources as rows, with one edge each."""

    def build() -> Adjacency:
        rows = torch.arange(len(index), device=index.device)
        return Adjacency.from_edge_index(torch.stack([rows, index.long()]), (len(index), num_groups))

    return _recall(index, ("grouping", num_groups), build)


def _recall(tensor: Tensor, kind: Hashable, build: Callable[[], Adjacency]) -> Adjacency:
    """What ``build`` made for this tensor before, if the tensor is unchanged since.

    A tensor is known by its owner, its place in memory and the counter that every change in place raises. A change
    behind torch's back, through a NumPy array that shares the memory, goes unnoticed.
    """
    if torch.compiler.is_compiling() or type(tensor) is not Tensor or tensor.layout != torch.strided:
        return build()
    if tensor.is_inference():  # such a tensor has no counter
        return build()
    owner = tensor if tensor._base is None else tensor._base
    key = (kind, tensor._version, tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
    if id(owner) not in _known:
        _known[id(owner)] = {}
        weakref.finalize(owner, _known.pop, id(owner), None)
    entries = _known[id(owner)]
    if key not in entries:
        adjacency = build()
        while len(entries) >= ENTRIES:
            entries.pop(next(iter(entries)), None)
        entries[key] = adjacency
    return entries[key]
