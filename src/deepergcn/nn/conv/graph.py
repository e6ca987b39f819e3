"""The graph of a convolution; its numbers of sources and targets must agree with features and ``size``."""

import torch
from torch import Tensor
from torch_geometric import EdgeIndex

from deepergcn.errors import InputError
from deepergcn.nn.pyg.adjacency_cache import cached_adjacency
from deepergcn.ops import Adjacency

Size = tuple[int | None, int | None]
"""The numbers of sources and targets, None if not given."""


def graph_of(graph: Tensor | Adjacency, source: Tensor, target: Tensor | None, size: Size | None = None) -> Adjacency:
    """The ``Adjacency`` of ``graph`` for these features.

    Without features of the targets their number is taken from ``size``, else from the graph (an ``Adjacency``, a sparse
    tensor, an ``EdgeIndex`` with its sparse size), else it is the number of sources, as in PyTorch Geometric.
    """
    sources, targets = source.shape[0], None if target is None else target.shape[0]
    given = "x"
    for name, known in (("size", _checked(size)), ("edge_index", _size_of(graph))):
        for role, found, said in (("sources", sources, known[0]), ("targets", targets, known[1])):
            if found is not None and said is not None and found != said:
                raise InputError(f"{name}: has {said} {role}, but {given if role == 'targets' else 'x'} has {found}")
        if targets is None and known[1] is not None:
            targets, given = known[1], name
    return cached_adjacency(graph, sources, sources if targets is None else targets)


def _checked(size: Size | None) -> Size:
    if size is None:
        return None, None
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise InputError(f"size: expected (sources, targets), got {size!r}")
    return size[0], size[1]


def _size_of(graph: Tensor | Adjacency) -> Size:
    if isinstance(graph, EdgeIndex):
        return graph.num_rows, graph.num_cols
    if isinstance(graph, Tensor) and graph.layout != torch.strided and graph.dim() == 2:
        return graph.shape[1], graph.shape[0]
    if isinstance(graph, Adjacency):
        return graph.num_sources, graph.num_targets
    return None, None
