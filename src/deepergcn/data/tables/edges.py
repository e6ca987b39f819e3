"""The ids of nodes, and the edges between them, from the columns of a user's tables."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import torch
from torch import Tensor

from deepergcn.data.dataset import directed
from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.kinds import number_name
from deepergcn.errors import InputError, quote

_NUMBER = re.compile(r"[0-9]{1,30}(?:\.0*)?")


def node_ids(nodes: Columns, column: str) -> Any:
    """The ids of the nodes as an Arrow array of text, every one once."""
    nodes.require([column], "ids")
    ids = nodes.text(column)
    if ids.null_count:
        row = ids.to_pylist().index(None)
        raise InputError(f"{nodes.path}: row {row + 1}: the id in column {column!r} is empty")
    first = pc.index_in(ids, ids).to_numpy(zero_copy_only=False)
    repeated = np.flatnonzero(first != np.arange(len(ids)))
    if len(repeated):
        row = repeated[0]
        raise InputError(
            f"{nodes.path}: row {row + 1}: the id {quote(ids[row].as_py())} is also in row {first[row] + 1}; "
            "expected unique ids"
        )
    return ids


def edge_ends(edges: Columns, ids: Any, source: str, target: str, node_file: Path) -> npt.NDArray[np.int64]:
    """The node numbers [2, E] of the two ends of every edge."""
    edges.require([source, target], "edges")
    return np.stack([end_numbers(edges, column, ids, node_file) for column in (source, target)])


def end_numbers(edges: Columns, column: str, ids: Any, node_file: Path) -> npt.NDArray[np.int64]:
    """The node numbers of one end of every edge."""
    names = edges.text(column)
    found: npt.NDArray[np.int32] = pc.index_in(names, ids).fill_null(-1).to_numpy(zero_copy_only=False)
    if (found < 0).any():
        row = int((found < 0).argmax())
        name = names[row].as_py() or ""
        rows = int((found < 0).sum())
        raise InputError(
            f"{edges.path}: row {row + 1}: {column} {quote(name)} is not the id of a node in {node_file}"
            f"{f' (as in {rows:,} rows)' if rows > 1 else ''}{_similar(name, ids)}"
        )
    return found.astype(np.int64)


def _similar(name: str, ids: Any) -> str:
    """An id that is the same but for its capitals, zeros or decimal point, for an error message."""
    wanted = _plain(name)
    found = next((other for other in ids.to_pylist() if _plain(other) == wanted), None)
    return "" if found is None else f"; did you mean {quote(found)}?"


def _plain(name: str) -> str:
    return number_name(name) if _NUMBER.fullmatch(name) else name.casefold()


def distinct_edges(ends: npt.NDArray[np.int64], edge_attr: Tensor | None) -> npt.NDArray[np.int64]:
    """The first row of each of the edges that differ in their ends or features."""
    if not ends.shape[1]:
        return np.arange(0)
    key = ends[0] * (ends.max() + 1) + ends[1]
    _, first, pair = np.unique(key, return_index=True, return_inverse=True)
    if edge_attr is not None and len(first) < len(key):
        _, first = np.unique(np.column_stack((pair, edge_attr.numpy())), axis=0, return_index=True)
    return np.sort(first)


def parallel_edges(ends: npt.NDArray[np.int64]) -> int:
    """The number of edges between two nodes beyond the first."""
    pairs = np.unique(ends[0] * (ends.max(initial=0) + 1) + ends[1])
    return int(ends.shape[1]) - len(pairs)


def stored_edges(
    ends: npt.NDArray[np.int64], edge_attr: Tensor | None, *, directed: bool
) -> tuple[Tensor, Tensor | None, bool]:
    """The edges and their features as a dataset holds them, and whether each stands for both directions.

    Where there are loops, which have one direction, all others are stored in both.
    """
    edge_index = torch.from_numpy(ends.astype(np.int32))
    if not directed and bool((edge_index[0] == edge_index[1]).any()):
        return *both_directions(edge_index, edge_attr), False
    return edge_index, edge_attr, not directed


def both_directions(edge_index: Tensor, edge_attr: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Every edge and its reverse in turn, but a loop once."""
    both, attr = directed(edge_index, edge_attr, symmetric=True)
    keep = both[0] != both[1]
    keep[::2] = True
    return both[:, keep], None if attr is None else attr[keep]
