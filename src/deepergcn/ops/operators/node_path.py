"""What the node paths of softmax and power mean share: one shift per channel for all nodes, where it is safe.

Without edge features a message depends on its source alone, so that exponentials are taken once a node instead of once
an edge. They are taken relative to the dominant message of the channel; a channel whose messages lie too far apart for
that goes edge by edge, with a shift for every vertex.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepergcn.ops.kernels.cpu.shares import shares_of
from deepergcn.ops.kernels.cpu.softmax_nodes import spread
from deepergcn.ops.kernels.recycled import empty
from deepergcn.ops.operators.cpu import Array, array


def message_range(chunks: int, x: Array, floor: Any, eps: Any) -> tuple[Array, Array]:
    """The smallest and the largest message of every channel, in float64."""
    low, high = (np.empty((chunks, x.shape[1]), x.dtype) for _ in range(2))
    spread(chunks, x, low, high)
    least, most = (np.where(e <= floor, floor, e) + np.float64(eps) for e in (low.min(axis=0), high.max(axis=0)))
    return least, most


def on_edge_path(x: Tensor, shift: Tensor) -> bool:
    """Whether forward went edge by edge, which it tells by infinite shifts."""
    return not x.numel() or math.isinf(shift[0])


def untouched(like: Tensor) -> Tensor:
    """Zeros that nobody reads, which therefore take no memory."""
    return torch.from_numpy(np.zeros(like.shape, np.float64 if like.dtype == torch.float64 else np.float32))


def target_shares(
    chunks: int, g: Tensor, factor: Tensor, total: Tensor, slope: Tensor, *, both: bool
) -> tuple[Array, Array, Tensor]:
    """What backward reads of each target, and the gradient of beta or p, sum_v g slope.

    The first is g / total, without rows unless ``both`` are asked for, the second g factor / total.
    """
    share, product = (array(empty(g, rows, g.shape[1])) for rows in (g.shape[0] if both else 0, g.shape[0]))
    totals = np.empty((chunks, g.shape[1]))
    shares_of(chunks, array(g), array(factor), array(total), array(slope), share, product, totals)
    return share, product, torch.from_numpy(totals).sum(dim=0).to(g.dtype)
