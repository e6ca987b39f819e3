"""The rows of a file of molecules a part at a time: however long the file is, one part is in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from deepergcn.data.molecules.rows import MoleculeRows, check_molecule_file, record_rows, table_rows
from deepergcn.data.molecules.sdf import read_sdf_blocks
from deepergcn.data.molecules.smi import read_smi_blocks
from deepergcn.data.storage.endings import SDF_NAMES, SMI_NAMES
from deepergcn.data.tables.columns import Columns, read_column_blocks
from deepergcn.errors import InputError


def stream_rows(
    path: Path, rows: int, smiles_column: str | None, id_column: str | None, delimiter: str | None = None
) -> Iterator[MoleculeRows]:
    """The rows of a file in parts of this many rows, the last of which may have fewer.

    Args:
        path: A file as for :func:`deepergcn.data.molecules.rows.open_rows`, as the other arguments are.
        rows: The number of rows of a part.
        smiles_column: The column of SMILES; the one called "smiles" if None.
        id_column: The column of ids.
        delimiter: The separator of the cells of a text file.
    """
    if rows < 1:
        raise InputError(f"rows is {rows}; expected at least 1")
    check_molecule_file(path)
    name = path.name.lower()
    if name.endswith(SDF_NAMES):
        for records, table in read_sdf_blocks(path, rows):
            yield record_rows(records, table, smiles_column, id_column)
        return
    blocks = read_smi_blocks(path, rows) if name.endswith(SMI_NAMES) else read_column_blocks(path, delimiter)
    for table in _regrouped(path, (block.table for block in blocks), rows):
        yield table_rows(table, smiles_column, id_column)


def _regrouped(path: Path, blocks: Iterator[Any], rows: int) -> Iterator[Columns]:
    """The rows of Arrow tables in tables of this many rows, at least one of them."""
    waiting: list[Any] = []
    count, parts = 0, 0
    for block in blocks:
        waiting.append(block)
        count += block.num_rows
        while count > rows:  # a part that is full waits for one more row: the last part is never empty
            table = pa.concat_tables(waiting)
            yield Columns(path, table.slice(0, rows))
            waiting, count, parts = [table.slice(rows)], count - rows, parts + 1
    if count or not parts:
        yield Columns(path, pa.concat_tables(waiting))
