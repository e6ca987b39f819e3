"""Node features from the structure of a graph alone, for nodes that have no others."""

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.storage.memory import check_memory
from deepergcn.errors import InputError

MOST_EMBEDDINGS = 1 << 24
"""The most nodes that can have a learned embedding each."""

_DEGREES = 16  # degrees with a column of their own: 0 to 14, and more
_WALKS = 256  # nodes of a large graph whose walks are followed together
_SMALL = 64  # nodes of a graph whose walks are powers of a matrix
_ENTRIES = 1 << 20  # of the matrices of small graphs that are multiplied together


def degree_features(dataset: Dataset) -> Tensor:
    """[nodes, 17]: log(1 + degree), and a 0/1 column for each degree from 0 to 14 and for higher ones.

    The degree is the number of in-edges, those of both directions where the graph is undirected.
    """
    degree = _degrees(dataset)
    check_memory(8 * (_DEGREES + 1) * len(degree), f"degree-encoding: {len(degree)} nodes")
    one_hot = torch.nn.functional.one_hot(degree.clamp(max=_DEGREES - 1), _DEGREES)
    return torch.cat((degree.double().log1p()[:, None], one_hot), dim=1).float()


def node_numbers(dataset: Dataset) -> tuple[Tensor, tuple[int, ...]]:
    """[nodes, 1]: the number of every node, a category that a network learns an embedding for."""
    nodes = dataset.num_nodes
    if nodes > MOST_EMBEDDINGS:
        raise InputError(f"node-numbers: {dataset.name} has {nodes} nodes; expected at most {MOST_EMBEDDINGS} to embed")
    return torch.arange(nodes)[:, None], (nodes,)


def return_probabilities(edges: Tensor, graph_of: Tensor, node_ptr: Tensor, steps: int) -> Tensor:
    """float32 [nodes, steps]: the probability of a walk from every node to be back after 1, 2, ..., ``steps`` steps.

    Args:
        edges: int64 [2, edges], source and target, numbered from 0 within their graph.
        graph_of: int64 [edges], the graph of every edge, in rising order.
        node_ptr: int64 [graphs + 1], where the nodes of every graph begin.
        steps: the number of steps.
    """
    sizes = node_ptr.diff()
    source = edges[0] + node_ptr[graph_of]
    shares = 1.0 / torch.bincount(source, minlength=int(node_ptr[-1]))[source].double()
    made = torch.empty(int(node_ptr[-1]), steps)
    for graph in (sizes > _SMALL).nonzero()[:, 0].tolist():
        first, last = torch.searchsorted(graph_of, torch.tensor([graph, graph + 1])).tolist()
        start, end = node_ptr[graph : graph + 2].tolist()
        made[start:end] = _large_graph(edges[:, first:last], shares[first:last], end - start, steps)
    small = (sizes <= _SMALL).nonzero()[:, 0]
    small = small[sizes[small].argsort(descending=True, stable=True)]
    begin = 0
    while begin < len(small):  # graphs of about the same size together
        count = max(_ENTRIES // int(sizes[small[begin]]) ** 2, 1)
        chosen = small[begin : begin + count]
        begin += len(chosen)
        place = torch.full((len(sizes),), -1)
        place[chosen] = torch.arange(len(chosen))
        mine = (place[graph_of] >= 0).nonzero()[:, 0]
        found = _small_graphs(edges[:, mine], shares[mine], place[graph_of[mine]], sizes[chosen], steps)
        made[torch.cat([torch.arange(*node_ptr[graph : graph + 2].tolist()) for graph in chosen.tolist()])] = found
    return made


def _degrees(dataset: Dataset) -> Tensor:
    return torch.from_numpy(np.bincount(_ends(dataset)[1], minlength=dataset.num_nodes))


def _ends(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the two nodes of every edge over all graphs, both directions of a symmetric one."""
    offset = dataset.node_ptr[:-1].repeat_interleave(dataset.edge_ptr.diff()).numpy()
    source, target = (end.numpy().astype(np.int64) + offset for end in dataset.edge_index)
    if not dataset.symmetric:
        return source, target
    return np.concatenate((source, target)), np.concatenate((target, source))


def _small_graphs(edges: Tensor, shares: Tensor, graph_of: Tensor, sizes: Tensor, steps: int) -> Tensor:
    """The probabilities of several graphs, whose steps are square matrices of one size, filled up with 0."""
    width = int(sizes.max())
    step = torch.zeros(len(sizes) * width * width, dtype=torch.float64)
    step.index_add_(0, (graph_of * width + edges[0]) * width + edges[1], shares)
    step = step.view(len(sizes), width, width)
    is_node = torch.arange(width) < sizes[:, None]
    made, walked = torch.empty(int(sizes.sum()), steps), step
    for number in range(steps):
        walked = walked @ step if number else step
        made[:, number] = walked.diagonal(dim1=1, dim2=2)[is_node].float()
    return made


def _large_graph(edges: Tensor, shares: Tensor, nodes: int, steps: int) -> Tensor:
    """The probabilities of one graph, some walks at a time."""
    step = torch.sparse_coo_tensor(edges, shares, (nodes, nodes), check_invariants=True).coalesce()
    made = torch.empty(nodes, steps)
    for start in range(0, nodes, _WALKS):
        rows = torch.arange(start, min(start + _WALKS, nodes))
        walks = torch.arange(len(rows))
        ends = torch.zeros(nodes, len(rows), dtype=torch.float64)
        ends[rows, walks] = 1.0
        for number in range(steps):
            ends = torch.sparse.mm(step, ends)  # from every node, the probability to be at each of the rows by now
            made[rows, number] = ends[rows, walks].float()
    return made
