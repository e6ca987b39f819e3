"""The walk through the trees of a forest, as a kernel."""

from typing import Any

import numpy.typing as npt

from deepergcn.data.kernels.jit import compiled

Array = npt.NDArray[Any]


@compiled
def add_leaves(
    values: Array, feature: Array, threshold: Array, right: Array, value: Array, roots: Array, out: Array
) -> None:
    """Add to each row of ``out`` [rows, width] what the trees say about that row of ``values`` [rows, descriptors]."""
    for tree in range(len(roots)):  # outside, so that the nodes of a tree stay in the cache
        for row in range(len(values)):
            node = roots[tree]
            while feature[node] >= 0:
                node = right[node] if values[row, feature[node]] > threshold[node] else node + 1
            for column in range(value.shape[1]):
                out[row, column] += value[node, column]
