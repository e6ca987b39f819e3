"""The ``Adjacency`` of undirected edges."""

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.kernels.graphs import order_pairs
from deepergcn.ops import Adjacency

_INT32_MAX = 2**31 - 1


def symmetric_adjacency(edge_index: Tensor, nodes: int) -> Adjacency:
    """The adjacency of the edges u -> v and v -> u in turn, for each u, v of ``edge_index`` [2, edges].

    The same as ``Adjacency.from_edge_index`` of all of them, but without sorting. Node indices must be in range.
    """
    edges = 2 * edge_index.shape[1]
    dtype = np.int32 if max(nodes, edges) < _INT32_MAX else np.int64
    rowptr = np.zeros(nodes + 1, dtype=dtype)
    source, edge, edge_t = np.empty((3, edges), dtype=dtype)
    order_pairs(edge_index.numpy(), rowptr, source, edge, edge_t)
    rows, others, places, places_t = map(torch.from_numpy, (rowptr, source, edge, edge_t))
    return Adjacency(nodes, nodes, rows, others, places, rows, others, places_t)
