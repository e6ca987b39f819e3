"""The loops over edges that turn stored graphs into features and batches."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deepergcn.data.kernels.jit import compiled

Array = npt.NDArray[Any]


@compiled
def incident_features(
    node_ptr: Array, edge_ptr: Array, edge_index: Array, edge_attr: Array, symmetric: bool, largest: bool, out: Array
) -> None:
    """Add the features of every edge to those of its target, and of its source too if ``symmetric``.

    With ``largest`` the maximum is taken instead of the sum.
    """
    for g in range(len(node_ptr) - 1):
        for e in range(edge_ptr[g], edge_ptr[g + 1]):
            u, v = node_ptr[g] + edge_index[0, e], node_ptr[g] + edge_index[1, e]
            for j in range(edge_attr.shape[1]):
                value = edge_attr[e, j]
                out[v, j] = max(out[v, j], value) if largest else out[v, j] + value
                if symmetric:
                    out[u, j] = max(out[u, j], value) if largest else out[u, j] + value


@compiled
def incident_count(node_ptr: Array, edge_ptr: Array, edge_index: Array, symmetric: bool, out: Array) -> None:
    """The number of edges that ``incident_features`` adds to every node."""
    for g in range(len(node_ptr) - 1):
        for e in range(edge_ptr[g], edge_ptr[g + 1]):
            out[node_ptr[g] + edge_index[1, e]] += 1
            if symmetric:
                out[node_ptr[g] + edge_index[0, e]] += 1


@compiled
def count_inside(edge_index: Array, part: Array, counts: Array) -> None:
    """Count for every part the edges that have both ends in it."""
    for e in range(edge_index.shape[1]):
        p = part[edge_index[0, e]]
        if p == part[edge_index[1, e]]:
            counts[p] += 1


@compiled
def list_inside(edge_index: Array, part: Array, first: int, place: Array, out: Array) -> None:
    """Write the numbers of these edges, counted from ``first``, each to the next place of its part."""
    for e in range(edge_index.shape[1]):
        p = part[edge_index[0, e]]
        if p == part[edge_index[1, e]]:
            out[place[p]] = first + e
            place[p] += 1


@compiled
def gather_edges(
    chosen: Array,
    edge_index: Array,
    edge_attr: Array,
    local: Array,
    symmetric: bool,
    out_index: Array,
    out_attr: Array,
) -> None:
    """The chosen edges between nodes that are renumbered by ``local``, with the reverse of each right after it."""
    step = 2 if symmetric else 1
    for i in range(len(chosen)):
        e, k = chosen[i], step * i
        u, v = local[edge_index[0, e]], local[edge_index[1, e]]
        out_index[0, k], out_index[1, k] = u, v
        if symmetric:
            out_index[0, k + 1], out_index[1, k + 1] = v, u
        for j in range(edge_attr.shape[1]):
            value = edge_attr[e, j]
            out_attr[k, j] = value
            if symmetric:
                out_attr[k + 1, j] = value


@compiled
def collate_edges(
    graphs: Array,
    ptr: Array,
    edge_ptr: Array,
    edge_index: Array,
    edge_attr: Array,
    symmetric: bool,
    out_index: Array,
    out_attr: Array,
) -> None:
    """The edges of the graphs one after another, as ``gather_edges``; graph i's nodes are numbered from ``ptr[i]``."""
    step = 2 if symmetric else 1
    k = 0
    for i in range(len(graphs)):
        for e in range(edge_ptr[graphs[i]], edge_ptr[graphs[i] + 1]):
            u, v = ptr[i] + edge_index[0, e], ptr[i] + edge_index[1, e]
            out_index[0, k], out_index[1, k] = u, v
            if symmetric:
                out_index[0, k + 1], out_index[1, k + 1] = v, u
            for j in range(edge_attr.shape[1]):
                value = edge_attr[e, j]
                out_attr[k, j] = value
                if symmetric:
                    out_attr[k + 1, j] = value
            k += step


@compiled
def collate_nodes(
    graphs: Array, ptr: Array, node_ptr: Array, x: Array, out_x: Array, out_batch: Array, out_node: Array
) -> None:
    """The nodes of the graphs one after another: features, number of the graph in the batch, number of the node."""
    for i in range(len(graphs)):
        for k in range(ptr[i], ptr[i + 1]):
            node = node_ptr[graphs[i]] + k - ptr[i]
            out_batch[k] = i
            out_node[k] = node
            for j in range(x.shape[1]):
                out_x[k, j] = x[node, j]


@compiled
def order_pairs(edge_index: Array, rowptr: Array, source: Array, edge: Array, edge_t: Array) -> None:
    """The two orders of an ``Adjacency`` where edge i stands for 2i: u -> v and 2i + 1: v -> u.

    Every node has as many out-edges as in-edges, to and from the same nodes in the same order: one counting sort is
    enough, and ``rowptr`` and ``source`` are also those of the transpose. ``rowptr`` comes in with zeros.
    """
    nodes = len(rowptr) - 1
    for i in range(edge_index.shape[1]):
        rowptr[edge_index[0, i] + 1] += 1
        rowptr[edge_index[1, i] + 1] += 1
    for v in range(nodes):
        rowptr[v + 1] += rowptr[v]
    place = rowptr[:nodes].copy()
    for i in range(edge_index.shape[1]):
        u, v = edge_index[0, i], edge_index[1, i]
        at_v = place[v]
        place[v] += 1
        at_u = place[u]
        place[u] += 1
        source[at_v], source[at_u] = u, v
        edge[at_v], edge[at_u] = 2 * i, 2 * i + 1
        if u == v:
            edge_t[at_v], edge_t[at_u] = 2 * i, 2 * i + 1
        else:
            edge_t[at_v], edge_t[at_u] = 2 * i + 1, 2 * i


@compiled
def breadth_first(
    rowptr: Array, neighbour: Array, rowptr_t: Array, neighbour_t: Array, starts: Array, order: Array
) -> None:
    """Write the nodes in the order in which a search from each of the ``starts`` in turn meets them."""
    met = np.zeros(len(starts), dtype=np.bool_)
    count = 0
    head = 0
    for start in starts:
        if met[start]:
            continue
        met[start] = True
        order[count] = start
        count += 1
        while head < count:
            u = order[head]
            head += 1
            for k in range(rowptr[u], rowptr[u + 1]):
                v = neighbour[k]
                if not met[v]:
                    met[v] = True
                    order[count] = v
                    count += 1
            for k in range(rowptr_t[u], rowptr_t[u + 1]):
                v = neighbour_t[k]
                if not met[v]:
                    met[v] = True
                    order[count] = v
                    count += 1
