"""Sparse node features: a matrix of scipy, or a table with a row for every entry."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from deepergcn.data.kernels.sparse import add_entries, add_products
from deepergcn.data.storage.endings import TABLE_NAMES
from deepergcn.data.storage.memory import check_memory
from deepergcn.data.storage.source_files import check_file
from deepergcn.data.tables.columns import Columns, read_columns
from deepergcn.data.tables.features import Unseen
from deepergcn.data.tables.files import with_rows
from deepergcn.errors import InputError, quote

FEATURE, VALUE = "feature", "value"
"""The columns of a table of entries, beside that of ids."""

PROJECTION = 512
"""The channels of a projection where nothing else is said."""

_DENSE = 2_000_000_000  # bytes up to which features are held as they are
_BLOCK = 4_096  # features that are projected at a time
_SEED = 0x5EED


@dataclass(frozen=True)
class SparseFeatures:
    """How sparse features become dense ones.

    Args:
        width: The number of features.
        names: Their names, where they have any.
        projection: The number of channels that they are projected to at random, by normal factors of variance
            1 / channels; 0 where they are taken as they are.
    """

    width: int
    names: tuple[str, ...] = ()
    projection: int = 0


class HowTables(Protocol):
    """The part of the provenance of tables about how sparse features were read."""

    @property
    def id_column(self) -> str: ...
    @property
    def delimiter(self) -> str | None: ...
    @property
    def sparse(self) -> SparseFeatures | None: ...


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of a sparse matrix, and the number and names of its columns."""

    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]
    width: int
    names: tuple[str, ...] = ()


def infer_sparse(entries: Entries, nodes: int, projection: int | None) -> SparseFeatures:
    """How the entries become features: as they are up to 2 GB, else projected, unless ``projection`` is given."""
    if projection is not None and projection < 0:
        raise InputError(f"projection is {projection}; expected a number of channels, or 0 for none")
    chosen = (PROJECTION if 4 * nodes * entries.width > _DENSE else 0) if projection is None else projection
    return SparseFeatures(entries.width, entries.names, chosen)


def dense_features(entries: Entries, how: SparseFeatures, nodes: int, path: Path) -> Tensor:
    """The features [nodes, width or channels of the projection] as float32."""
    width = how.projection or how.width
    check_memory(4 * nodes * width, f"{path}: {width} features of {nodes} nodes")
    out = np.zeros((nodes, width), dtype=np.float32)
    if not how.projection:
        add_entries(entries.rows, entries.columns, entries.values, out)
        return torch.from_numpy(out)
    draw = np.random.default_rng(_SEED)
    order = np.argsort(entries.columns, kind="stable")
    rows, columns, values = entries.rows[order], entries.columns[order], entries.values[order]
    for first in range(0, how.width, _BLOCK):
        factors = draw.standard_normal((min(_BLOCK, how.width - first), width), dtype=np.float32) / width**0.5
        start, end = np.searchsorted(columns, (first, first + _BLOCK))
        add_products(rows[start:end], columns[start:end], values[start:end], first, factors.astype(np.float32), out)
    return torch.from_numpy(out)


def read_entries(
    path: Path,
    ids: Any,
    id_column: str,
    node_file: Path,
    *,
    delimiter: str | None = None,
    known: SparseFeatures | None = None,
    unseen: Unseen = "error",
) -> Entries:
    """The entries of a file ``.npz`` of scipy, or of a table with the columns of ids, ``feature`` and ``value``.

    Args:
        path: The file. The rows of a matrix are the nodes in their order.
        ids: The ids of the nodes, an Arrow array.
        id_column: The column of a table with the ids.
        node_file: The table of nodes, for errors.
        delimiter: The delimiter between the cells of a text file.
        known: The features of training, or None in training; other features are an error, or left out.
        unseen: Whether a feature not seen in training is an error, or left out.
    """
    check_file(path)
    if path.name.lower().endswith(".npz"):
        entries = _matrix(path, len(ids), node_file)
        if known is not None and (known.names or entries.width != known.width):
            trained = f"{known.width} named features" if known.names else f"{known.width} features"
            raise InputError(f"{path}: has {entries.width} features; the network was trained on {trained}")
        return entries
    if not path.name.lower().endswith(TABLE_NAMES):
        raise InputError(f"{path}: expected a scipy matrix (.npz) or a table ({', '.join(TABLE_NAMES)})")
    if known is not None and not known.names:
        raise InputError(f"{path}: is a table; the network was trained on an .npz matrix of {known.width} features")
    return _table(read_columns(path, delimiter), ids, id_column, node_file, known, unseen)


def read_entries_again(
    path: Path | None, ids: Any, how: "HowTables", node_file: Path, unseen: Unseen
) -> Entries | None:
    """The entries of another file, read as in training; an error if only one of the two has such a file."""
    if (how.sparse is None) != (path is None):
        with_features = f"with sparse features; expected the file for the nodes of {node_file}"
        trained = with_features if path is None else "without sparse features; expected no file of them"
        raise InputError(f"--node-features: the network was trained {trained}")
    if path is None:
        return None
    return read_entries(path, ids, how.id_column, node_file, delimiter=how.delimiter, known=how.sparse, unseen=unseen)


def _matrix(path: Path, nodes: int, node_file: Path) -> Entries:
    form = ""
    try:
        with np.load(path, allow_pickle=False) as file:
            form = str(np.asarray(file["format"]).item(), "ascii")
            shape, pointers, columns, values = (file[name] for name in ("shape", "indptr", "indices", "data"))
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        found = f"holds a matrix of format {form}" if form else "cannot be read"
        raise InputError(f"{path}: {found}; expected scipy.sparse.save_npz of a CSR matrix") from error
    if form != "csr":
        raise InputError(f"{path}: holds a matrix of format {form}; expected scipy.sparse.save_npz of a CSR matrix")
    rows, width = (int(size) for size in shape)
    if rows != nodes:
        raise InputError(f"{path}: has {rows} rows; expected {nodes}, one for each row of {node_file}")
    pointers, columns = pointers.astype(np.int64), columns.astype(np.int64)
    sound = len(pointers) == rows + 1 and pointers[0] == 0 and pointers[-1] == len(columns) == len(values)
    if not sound or (np.diff(pointers) < 0).any() or (len(columns) and not 0 <= columns.min() <= columns.max() < width):
        raise InputError(f"{path}: is damaged: its pointers or column numbers do not fit its shape {rows} x {width}")
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = values.astype(np.float32) if np.isrealobj(values) else np.full(len(values), np.nan, np.float32)
    where = np.repeat(np.arange(rows), np.diff(pointers))
    if not np.isfinite(numbers).all():
        row = int(where[~np.isfinite(numbers)][0])
        raise InputError(f"{path}: row {row + 1} has a value that is not a finite float32 number")
    return Entries(where, columns, numbers, width)


def _table(
    table: Columns, ids: Any, id_column: str, node_file: Path, known: SparseFeatures | None, unseen: Unseen
) -> Entries:
    path = table.path
    table.require([id_column, FEATURE, VALUE], "sparse features")
    with_rows(table)
    names = table.text(FEATURE)
    if names.null_count:
        raise InputError(f"{path}: row {names.to_pylist().index(None) + 1}: the feature is empty")
    rows = _numbers(table.text(id_column), ids)
    if (rows < 0).any():
        row = int((rows < 0).argmax())
        name = table.text(id_column)[row].as_py() or ""
        raise InputError(f"{path}: row {row + 1}: {id_column} {quote(name)} is not the id of a node in {node_file}")
    features = tuple(sorted(pc.unique(names).to_pylist())) if known is None else known.names
    columns = _numbers(names, pa.array(features, pa.string()))
    values = table.numbers(VALUE)
    if np.isnan(values).any():
        raise InputError(f"{path}: row {int(np.isnan(values).argmax()) + 1}: the value is empty; expected a number")
    if (columns < 0).any() and unseen == "error":
        row = int((columns < 0).argmax())
        raise InputError(
            f"{path}: row {row + 1}: feature {quote(names[row].as_py())} was not seen in training "
            "(--unseen other leaves it out)"
        )
    kept = columns >= 0
    rows, columns, numbers = rows[kept], columns[kept], values[kept].astype(np.float32)
    _, first = np.unique(rows * max(len(features), 1) + columns, return_index=True)
    if len(first) < len(rows):
        row = int(np.flatnonzero(kept)[np.setdiff1d(np.arange(len(rows)), first)[0]])
        raise InputError(f"{path}: row {row + 1}: the node already has a value for this feature in an earlier row")
    return Entries(rows, columns, numbers, len(features), features)


def _numbers(texts: Any, known: Any) -> npt.NDArray[np.int64]:
    found = pc.index_in(texts, known).fill_null(-1).to_numpy(zero_copy_only=False)
    numbers: npt.NDArray[np.int64] = found.astype(np.int64)
    return numbers
