"""The subgraphs that parts of a graph's nodes induce, found in two passes over its edges."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch, build_batch, room
from deepergcn.data.dataset import Dataset
from deepergcn.data.kernels.graphs import count_inside, gather_edges, list_inside
from deepergcn.data.kernels.jit import in_pieces
from deepergcn.errors import InputError

Ints = npt.NDArray[np.int64]

PIECE = 1 << 20
"""The number of edges that are searched at a time."""


def induced(dataset: Dataset, assignment: Tensor, wanted: Sequence[int] | None = None) -> Iterator[GraphBatch]:
    """The subgraphs that parts of the nodes induce, in turn.

    Args:
        dataset: A dataset of one graph.
        assignment: int64 [nodes], the part from 0 on that each node is in.
        wanted: The parts to return; all of them if None.

    Nodes and edges keep their order. The edges between two parts are left out.
    """
    if assignment.dtype != torch.int64 or assignment.shape != (dataset.num_nodes,):
        raise InputError(
            f"assignment is {assignment.dtype} {list(assignment.shape)}; expected int64 [{dataset.num_nodes}]"
        )
    if int(assignment.min()) < 0:
        raise InputError(f"assignment has parts from {int(assignment.min())} on; expected 0")
    parts = int(assignment.max()) + 1
    chosen = range(parts) if wanted is None else wanted
    if chosen and not 0 <= min(chosen) <= max(chosen) < parts:
        raise InputError(f"the requested parts are from {min(chosen)} to {max(chosen)}; expected 0 to {parts - 1}")
    narrow: npt.NDArray[Any] = assignment.numpy().astype(np.uint8 if parts <= 256 else np.int32)
    edges, edge_start = _inside(dataset.edge_index.numpy(), narrow, parts)
    nodes = np.argsort(narrow, kind="stable")
    node_start = np.concatenate(([0], np.cumsum(np.bincount(narrow, minlength=parts))))
    local = np.empty(dataset.num_nodes, dtype=np.int32)
    local[nodes] = np.arange(dataset.num_nodes) - np.repeat(node_start[:-1], np.diff(node_start))
    for part in chosen:
        yield _subgraph(
            dataset,
            nodes[node_start[part] : node_start[part + 1]],
            edges[edge_start[part] : edge_start[part + 1]],
            local,
        )


def _inside(edge_index: npt.NDArray[np.int32], assignment: npt.NDArray[Any], parts: int) -> tuple[Ints, Ints]:
    """The numbers of the edges inside of parts, part by part, and where each part begins."""
    count = edge_index.shape[1]
    counts = np.zeros((-(-count // PIECE), parts), dtype=np.int64)
    in_pieces(count, lambda i, j: count_inside(edge_index[:, i:j], assignment, counts[i // PIECE]), PIECE)
    start = np.concatenate(([0], np.cumsum(counts.sum(0))))
    place = start[:-1] + np.cumsum(counts, axis=0) - counts
    edges = np.empty(start[-1], dtype=np.int64)
    in_pieces(count, lambda i, j: list_inside(edge_index[:, i:j], assignment, i, place[i // PIECE], edges), PIECE)
    return edges, start


def _subgraph(dataset: Dataset, nodes: Ints, edges: Ints, local: npt.NDArray[np.int32]) -> GraphBatch:
    rows = len(edges) * (2 if dataset.symmetric else 1)
    edge_index = torch.empty(2, rows, dtype=torch.int64)
    attr_from, attr_to, edge_attr = room(dataset.edge_attr, rows)
    gather_edges(edges, dataset.edge_index.numpy(), attr_from, local, dataset.symmetric, edge_index.numpy(), attr_to)
    node = torch.from_numpy(nodes)
    x = None if dataset.x is None else dataset.x[node]
    x = x if x is None or x.is_floating_point() else x.long()
    return build_batch(dataset, edge_index, edge_attr, x=x, node=node)
