"""An order of a graph's nodes in which neighbours lie near each other, so that their features share the cache.

The order of a user's files says nothing about the edges: a gather over a large graph waits for memory at most of them.
"""

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.kernels.graphs import breadth_first
from deepergcn.ops import Adjacency

LARGE = 1 << 15
"""Nodes of a graph that are worth an order: the features of fewer stay in the cache in any order."""


def vertex_order(adjacency: Adjacency) -> Tensor:
    """The nodes in the order in which a breadth-first search meets them, int64 [nodes].

    The search starts at a node with the fewest neighbours, and again wherever it has not come, as Cuthill and McKee
    (1969) do. It follows edges against their direction as well.

    Args:
        adjacency: The structure of one graph.
    """
    rowptr, neighbour = adjacency.rowptr.numpy(), adjacency.source.numpy()
    rowptr_t, neighbour_t = adjacency.rowptr_t.numpy(), adjacency.target.numpy()
    starts = np.argsort(np.diff(rowptr) + np.diff(rowptr_t), kind="stable")
    order = np.empty(adjacency.num_sources, dtype=np.int64)
    breadth_first(rowptr, neighbour, rowptr_t, neighbour_t, starts, order)
    return torch.from_numpy(order)
