"""Pooling: from vertex features to graph features."""

from typing import Literal, get_args

from torch import Tensor
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

from deepergcn.errors import InputError

Pooling = Literal["mean", "sum", "max"]
"""The names of the pooling functions."""

_POOLINGS = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


def check_pooling(name: str) -> None:
    if name not in _POOLINGS:
        raise InputError(f"pooling: expected one of {', '.join(get_args(Pooling))}, got {name!r}")


def pool(name: Pooling, h: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """Pool vertex features ``h`` to graph features [num_graphs, channels]; an empty graph has 0."""
    pooled: Tensor = _POOLINGS[name](h, batch, num_graphs)
    return pooled
