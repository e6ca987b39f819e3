"""Sparse matrices as dense rows."""

from typing import Any

import numpy.typing as npt

from deepergcn.data.kernels.jit import compiled

Array = npt.NDArray[Any]


@compiled
def add_entries(rows: Array, columns: Array, values: Array, out: Array) -> None:
    """Add every entry to its place in ``out`` [rows, columns]."""
    for e in range(len(rows)):
        out[rows[e], columns[e]] += values[e]


@compiled
def add_products(rows: Array, columns: Array, values: Array, first: int, factors: Array, out: Array) -> None:
    """Add to each row of ``out`` its entries times the rows of ``factors``, those of the columns from ``first`` on."""
    for e in range(len(rows)):
        c = columns[e] - first
        for j in range(out.shape[1]):
            out[rows[e], j] += values[e] * factors[c, j]
