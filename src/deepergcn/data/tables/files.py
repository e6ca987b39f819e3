"""The tables of a graph, of its nodes, its edges and sparse features: files, or tables that have been read already."""

from pathlib import Path

from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.data.storage.endings import TABLE_NAMES
from deepergcn.data.tables.columns import Columns, read_columns
from deepergcn.errors import InputError

Table = str | Path | Columns
"""A file, or a table that has been read already."""


def read_table(table: Table, delimiter: str | None = None) -> Columns:
    """The columns of a file; those of a table that has been read already as they are."""
    return table if isinstance(table, Columns) else read_columns(Path(table), delimiter)


def table_path(table: Table) -> Path:
    """The file of a table."""
    return table.path if isinstance(table, Columns) else Path(table)


def with_rows(table: Columns) -> Columns:
    """The table, if it has rows."""
    if not len(table):
        raise InputError(f"{table.path}: the table has no rows")
    return table


def tables_digest(nodes: Path, edges: Path, sparse: Path | None = None) -> str:
    """The digest of the files of a graph."""
    return text_digest(*(file_digest(file) for file in (nodes, edges, sparse) if file is not None))


def table_files(nodes: Table, edges: Table | None) -> tuple[Path, Path]:
    """The files of nodes and of edges, where ``nodes`` may be a folder that holds both."""
    first = table_path(nodes)
    if edges is not None:
        return first, table_path(edges)
    if not first.is_dir():
        raise InputError(f"{first}: is a single file; expected a table of edges too (--edges), or a folder with both")
    return _in_folder(first, "nodes"), _in_folder(first, "edges")


def _in_folder(folder: Path, stem: str) -> Path:
    names = [f"{stem}{suffix}" for suffix in TABLE_NAMES]
    found = [folder / name for name in names if (folder / name).is_file()]
    if len(found) != 1:
        raise InputError(f"{folder}: has {len(found)} of the files {', '.join(names)}; expected exactly one")
    return found[0]
