"""Pairs of nodes from the rows of a user's table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deepergcn.data.links.pairs import Ints, pair_keys
from deepergcn.data.split import part_names
from deepergcn.data.tables.columns import Columns, errors_in
from deepergcn.data.tables.edges import edge_ends
from deepergcn.errors import InputError, quote


@dataclass(frozen=True, eq=False)
class LinkTable:
    """The links of a table, each pair once.

    Attributes:
        path: The file.
        pairs: [2, links], the numbers of the two nodes.
        parts: The part of each link by the split column; None where a cell is empty, or all of them without a column.
        repeated: The number of rows that repeat the pair of an earlier row.
    """

    path: Path
    pairs: Ints
    parts: list[str | None]
    repeated: int


def read_link_table(
    links: Columns, ids: Any, ends: tuple[str, str], split_column: str | None, known_as: Path
) -> LinkTable:
    """The links of a table between the nodes with these ids, which ``known_as`` names in errors."""
    if not len(links):
        raise InputError(f"{links.path}: the table has no rows; expected a link in each")
    pairs = read_pairs(links, ids, ends, known_as)
    parts: list[str | None] = [None] * len(links)
    if split_column is not None:
        links.require([split_column], "split")
        with errors_in(links.path):
            parts = part_names(links.text(split_column).to_pylist(), split_column)
    keys = pair_keys(pairs, len(ids))
    _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
    _check_parts(links, first[pair], parts, split_column)
    kept = np.sort(first)
    return LinkTable(links.path, pairs[:, kept], [parts[row] for row in kept.tolist()], len(keys) - len(kept))


def read_pairs(table: Columns, ids: Any, ends: tuple[str, str], known_as: Path | str) -> Ints:
    """The numbers [2, rows] of the two different nodes that each row names."""
    table.require(ends, "links")
    for column in ends:
        cells = table.text(column)
        if cells.null_count:
            row = cells.to_pylist().index(None)
            raise InputError(f"{table.path}: row {row + 1}: {column} is empty; expected the id of a node")
    pairs = edge_ends(table, ids, *ends, Path(known_as))
    same = np.flatnonzero(pairs[0] == pairs[1])
    if len(same):
        row = int(same[0])
        name = quote(table.text(ends[0])[row].as_py())
        raise InputError(f"{table.path}: row {row + 1}: links {name} with itself; expected two different nodes")
    return pairs


def _check_parts(
    links: Columns, first: npt.NDArray[np.int64], parts: Sequence[str | None], split_column: str | None
) -> None:
    """Check that a pair which is there twice is in one part."""
    if split_column is None:
        return
    for row, other in enumerate(first.tolist()):
        if parts[row] != parts[other]:
            raise InputError(
                f"{links.path}: row {row + 1}: the pair is also in row {other + 1}, in another part of the split "
                f"({parts[other] or 'none'} and {parts[row] or 'none'}); expected every pair in one part"
            )
