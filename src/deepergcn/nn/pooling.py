"""From the features of vertices to those of graphs."""

from typing import Literal, get_args

from torch import Tensor
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

from deepergcn.errors import InputError

Pooling = Literal["mean", "sum", "max"]
"""The names of the poolings."""

_POOLINGS = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


def check_pooling(name: str) -> None:
    if name not in _POOLINGS:
        raise InputError(f"pooling: expected one of {', '.join(get_args(Pooling))}, got {name!r}")


def pool(name: Pooling, h: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
    """The features [num_graphs, channels] of the graphs whose vertices have the features ``h``; 0 for an empty one."""
    pooled: Tensor = _POOLINGS[name](h, batch, num_graphs)
    return pooled
