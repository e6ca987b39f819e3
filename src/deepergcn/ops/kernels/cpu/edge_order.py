"""Both orders of a graph's edges by counting: linear in the edges, edges with the same key in the given order."""

from numba import njit

from deepergcn.ops.kernels.cpu.machine.jit import body


@njit(inline="always")
def _sort(keys, others, rowptr, ends, place):
    """rowptr, the other ends and the place in the given order of the edges sorted by ``keys``."""
    count = rowptr.shape[0] - 1
    rowptr[:] = 0
    for e in range(keys.shape[0]):
        rowptr[keys[e] + 1] += 1
    for v in range(count):
        rowptr[v + 1] += rowptr[v]
    for e in range(keys.shape[0]):
        k = rowptr[keys[e]]
        ends[k] = others[e]
        place[k] = e
        rowptr[keys[e]] = k + 1
    for v in range(count, 0, -1):  # each has moved to where the next begins
        rowptr[v] = rowptr[v - 1]
    rowptr[0] = 0


@body
def order(edge_index, rowptr, source, edge, rowptr_t, target, edge_t):
    """Fill the arrays of an ``Adjacency``, or give the first edge that has an end out of range; -1 for none."""
    num_targets, num_sources = rowptr.shape[0] - 1, rowptr_t.shape[0] - 1
    for e in range(edge_index.shape[1]):
        u, v = edge_index[0, e], edge_index[1, e]
        if u < 0 or u >= num_sources or v < 0 or v >= num_targets:
            return e
    _sort(edge_index[1], edge_index[0], rowptr, source, edge)
    _sort(edge_index[0], edge_index[1], rowptr_t, target, edge_t)
    return -1
