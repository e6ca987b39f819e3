"""From an edge list to the two orders that ``Adjacency`` keeps: by target, and by source."""

from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

from deepergcn.errors import InputError
from deepergcn.ops.path import on_plain_path

if find_spec("numba"):
    from deepergcn.ops.kernels.cpu import edge_order as kernels
else:
    kernels = None  # type: ignore[assignment]

_INT32_MAX = 2**31 - 1

Order = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def build(edge_index: Tensor, num_sources: int, num_targets: int) -> Order:
    """Check ``edge_index`` and order it: (rowptr, source, edge) by target, (rowptr, target, edge) by source.

    It is an operator for torch.compile alone, whose bookkeeping takes longer than the ordering of a small graph.
    """
    if on_plain_path():
        _check_form(edge_index)
        return by_sorting(edge_index.long(), num_sources, num_targets)
    if torch.compiler.is_compiling() or type(edge_index) is not Tensor:
        order: Order = operator(edge_index, num_sources, num_targets)
        return order
    return _build(edge_index, num_sources, num_targets)


def _build(edge_index: Tensor, num_sources: int, num_targets: int) -> Order:
    _check_form(edge_index)
    if kernels is not None and edge_index.device.type == "cpu":
        return _by_counting(edge_index, num_sources, num_targets)
    if edge_index.device.type != "meta":
        _check_ranges(edge_index, num_sources, num_targets)
    return by_sorting(
        edge_index.to(_index_dtype(edge_index.shape[1], num_sources, num_targets)), num_sources, num_targets
    )


def _by_counting(edge_index: Tensor, num_sources: int, num_targets: int) -> Order:
    num_edges = edge_index.shape[1]
    dtype = np.int32 if _index_dtype(num_edges, num_sources, num_targets) == torch.int32 else np.int64
    sizes = (num_targets + 1, num_edges, num_edges, num_sources + 1, num_edges, num_edges)
    try:
        arrays = [np.empty(size, dtype) for size in sizes]
    except (MemoryError, ValueError):
        raise InputError(
            f"num_nodes: {num_sources} sources and {num_targets} targets do not fit into the memory; expected vertices "
            "that are numbered from 0, without gaps"
        ) from None
    if kernels.order(edge_index.contiguous().numpy(), *arrays) >= 0:
        _check_ranges(edge_index, num_sources, num_targets)
    rowptr, source, edge, rowptr_t, target, edge_t = (torch.from_numpy(a) for a in arrays)
    return rowptr, source, edge, rowptr_t, target, edge_t


def by_sorting(edge_index: Tensor, num_sources: int, num_targets: int) -> Order:
    source, target = edge_index[0], edge_index[1]
    return *_order(target, source, num_targets), *_order(source, target, num_sources)


def _check_ranges(edge_index: Tensor, num_sources: int, num_targets: int) -> None:
    for row, name, count in ((0, "source", num_sources), (1, "target", num_targets)):
        _check_range(edge_index[row], name, count)


@torch.library.custom_op("deepergcn::build_adjacency", mutates_args=())
def operator(
    edge_index: Tensor, num_sources: int, num_targets: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """``build`` as torch.compile sees it."""
    return _build(edge_index, num_sources, num_targets)


@operator.register_fake
def _(edge_index: Tensor, num_sources: int, num_targets: int) -> Order:
    _check_form(edge_index)
    num_edges = edge_index.shape[1]
    dtype = _index_dtype(num_edges, num_sources, num_targets)

    def indices(count: int) -> Tensor:
        return edge_index.new_empty(count, dtype=dtype)

    return (
        indices(num_targets + 1),
        indices(num_edges),
        indices(num_edges),
        indices(num_sources + 1),
        indices(num_edges),
        indices(num_edges),
    )


def _index_dtype(*counts: int) -> torch.dtype:
    return torch.int32 if max(counts) < _INT32_MAX else torch.int64


def _order(keys: Tensor, others: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sort edges by ``keys``, edges with the same key in the given order: (rowptr, others, place in the order)."""
    # ONNX has no stable sort; the order of equal keys changes nothing but the order of additions.
    place = torch.sort(keys)[1] if torch.compiler.is_exporting() else torch.argsort(keys, stable=True)
    per_key = torch.zeros(count, dtype=torch.int64, device=keys.device)
    per_key = per_key.index_add(0, keys.long(), torch.ones_like(keys, dtype=torch.int64))
    rowptr = torch.cat([per_key.new_zeros(1), per_key.cumsum(0)])
    return rowptr.to(keys.dtype), others[place], place.to(keys.dtype)


def _check_form(edge_index: Tensor) -> None:
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InputError(f"edge_index: expected the shape [2, edges], got {list(edge_index.shape)}")
    if edge_index.dtype not in (torch.int64, torch.int32):
        raise InputError(f"edge_index: expected int64 or int32, got {edge_index.dtype}")


def _check_range(indices: Tensor, name: str, count: int) -> None:
    if indices.numel() == 0:
        return
    low, high = (int(v) for v in torch.aminmax(indices))
    if low < 0 or high >= count:
        wrong = int(((indices < 0) | (indices >= count)).nonzero()[0])
        raise InputError(
            f"edge_index: {name} {int(indices[wrong])} of edge {wrong} is out of range, "
            f"expected 0 to {count - 1} ({count} {name}s)"
        )
