"""From an edge list to the two orders that ``Adjacency`` keeps: by target, and by source."""

import torch
from torch import Tensor

from deepergcn.errors import InputError

_INT32_MAX = 2**31 - 1


@torch.library.custom_op("deepergcn::build_adjacency", mutates_args=())
def build(
    edge_index: Tensor, num_sources: int, num_targets: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Check ``edge_index`` and order it: (rowptr, source, edge) by target, (rowptr, target, edge) by source."""
    _check_form(edge_index)
    for row, name, count in ((0, "source", num_sources), (1, "target", num_targets)):
        _check_range(edge_index[row], name, count)
    dtype = _index_dtype(edge_index.shape[1], num_sources, num_targets)
    source, target = edge_index[0].to(dtype), edge_index[1].to(dtype)
    return *_order(target, source, num_targets), *_order(source, target, num_sources)


@build.register_fake
def _(edge_index: Tensor, num_sources: int, num_targets: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
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
    place = torch.argsort(keys, stable=True)
    rowptr = torch.zeros(count + 1, dtype=torch.int64, device=keys.device)
    torch.cumsum(torch.bincount(keys, minlength=count), dim=0, out=rowptr[1:])
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
