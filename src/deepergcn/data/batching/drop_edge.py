"""DropEdge: a step on a random part of the edges."""

from copy import copy

import torch

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.ops import Adjacency


def drop_edges(batch: GraphBatch, probability: float, generator: torch.Generator) -> GraphBatch:
    """The batch without some of its edges (DropEdge, Rong et al. 2020); each is left out with this probability.

    The edges are drawn by ``generator``; the given batch stays as it is.
    """
    edge_index, edge_attr = batch.edge_index, batch.edge_attr
    assert edge_index is not None
    kept = torch.rand(edge_index.shape[1], generator=generator) >= probability
    dropped = copy(batch)
    dropped.edge_index = edge_index[:, kept]
    dropped.edge_attr = None if edge_attr is None else edge_attr[kept]
    dropped.adjacency = Adjacency.from_edge_index(dropped.edge_index, batch.num_nodes)
    return dropped
