"""Clusters of nodes with few edges between them, by METIS."""

import torch
from torch import Tensor
from torch_geometric.utils import remove_self_loops, to_undirected

from deepergcn.data.dataset import Dataset
from deepergcn.errors import InputError


def metis(dataset: Dataset, parts: int, seed: int = 0) -> Tensor:
    """int64 [nodes], METIS's part of each node; fewer than ``parts`` where METIS leaves some empty."""
    try:
        import pymetis
    except ImportError as error:
        raise InputError("clustered partitions need the package pymetis; install deepergcn[metis]") from error
    edge_index, _ = remove_self_loops(to_undirected(dataset.edge_index.long(), num_nodes=dataset.num_nodes))
    degree = torch.bincount(edge_index[0], minlength=dataset.num_nodes)
    rowptr = torch.cat((degree.new_zeros(1), degree.cumsum(0)))
    graph = pymetis.CSRAdjacency(rowptr.numpy(), edge_index[1].numpy())
    _, assignment = pymetis.part_graph(parts, graph, options=pymetis.Options(seed=seed))
    renumbered: Tensor
    _, renumbered = torch.unique(torch.tensor(assignment), return_inverse=True)
    return renumbered
