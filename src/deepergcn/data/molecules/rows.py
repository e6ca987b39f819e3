"""The rows of a file of molecules, readable and skipped: of the whole file, or a part at a time.

However long the file is, one part is in memory.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deepergcn.data.molecules.fragments import Fragments
from deepergcn.data.molecules.parse import Form, ParsedMolecules, molecule_title, parse_molecules
from deepergcn.data.molecules.sdf import TITLE, read_sdf, read_sdf_blocks
from deepergcn.data.molecules.skipped import Skipped
from deepergcn.data.molecules.smi import read_smi, read_smi_blocks
from deepergcn.data.storage.endings import MOLECULE_NAMES, SDF_NAMES, SMI_NAMES, check_name
from deepergcn.data.storage.progress import ProgressHook
from deepergcn.data.storage.source_files import check_file
from deepergcn.data.tables.columns import Columns, errors_in, read_column_blocks, read_columns
from deepergcn.data.tables.files import with_rows
from deepergcn.data.tables.labels import LabelSchema
from deepergcn.errors import InputError, quote


@dataclass(frozen=True, eq=False)
class MoleculeRows:
    """All rows of a file.

    Args:
        table: the columns, or the properties of an SDF file.
        texts: the molecule of every row.
        form: the format of the molecules.
        names: the id of every row.
        smiles_column: the column of SMILES; None for an SDF file.
    """

    table: Columns
    texts: list[str | None]
    form: Form
    names: list[str | None]
    smiles_column: str | None

    def ids(self, positions: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """The ids of these rows, counted from 0."""
        return tuple(self.names[position] or "" for position in positions.tolist())


def check_molecule_file(path: Path) -> None:
    """Check that the file exists and that its suffix is known."""
    check_file(path)
    check_name(path, MOLECULE_NAMES)


def open_rows(
    path: Path, smiles_column: str | None, id_column: str | None, delimiter: str | None = None
) -> MoleculeRows:
    """Read the rows of a file without parsing the molecules."""
    if not path.name.lower().endswith(SDF_NAMES):
        table = read_smi(path) if path.name.lower().endswith(SMI_NAMES) else read_columns(path, delimiter)
        return table_rows(table, smiles_column, id_column)
    return record_rows(*read_sdf(path), smiles_column, id_column)


def stream_rows(
    path: Path, rows: int, smiles_column: str | None, id_column: str | None, delimiter: str | None = None
) -> Iterator[MoleculeRows]:
    """The rows of a file in parts of this many rows, the last of which may have fewer.

    Args:
        path: A file as for :func:`open_rows`, as the other arguments are.
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


def record_rows(
    records: Sequence[str], table: Columns, smiles_column: str | None, id_column: str | None
) -> MoleculeRows:
    """The rows of records of an SDF file, with the table of their properties."""
    if smiles_column is not None:
        raise InputError(f"{table.path}: an SDF file has no SMILES column; expected no --smiles-column")
    name_column = id_column or TITLE
    table.require([name_column], "ids")
    return MoleculeRows(table, list(records), "molblock", table.text(name_column).to_pylist(), None)


def table_rows(table: Columns, smiles_column: str | None, id_column: str | None) -> MoleculeRows:
    """The rows of a table with a column of SMILES."""
    with_rows(table)
    if smiles_column is None or (smiles_column not in table.names and smiles_column.lower() == "smiles"):
        smiles_column = _find_smiles(table)
    table.require([smiles_column], "SMILES")
    name_column = id_column or smiles_column
    table.require([name_column], "ids")
    texts, names = table.text(smiles_column).to_pylist(), table.text(name_column).to_pylist()
    return MoleculeRows(table, texts, "smiles", names, smiles_column)


def parse_rows(
    rows: MoleculeRows,
    schema: LabelSchema | None,
    *,
    scaffolds: bool = False,
    keys: bool = False,
    fragments: Fragments = "all",
    strict: bool,
    workers: int | None,
    progress: ProgressHook | None,
) -> ParsedMolecules:
    """Parse the molecules of the rows; a row whose label is not a number in a regression is skipped too."""
    path, skipped = rows.table.path, _without_number(rows, schema)
    if strict and skipped:
        first = skipped[min(skipped)]
        raise InputError(f"{path}: row {first.row}: {first.reason}")
    with errors_in(path):
        parsed = parse_molecules(
            rows.texts,
            form=rows.form,
            scaffolds=scaffolds,
            keys=keys,
            fragments=fragments,
            strict=strict,
            workers=workers,
            progress=progress,
        )
    keep = ~np.isin(parsed.positions, list(skipped))
    skipped |= {row.row - 1: row for row in parsed.skipped}
    if not keep.any():
        first = skipped[min(skipped)]
        raise InputError(f"{path}: no row can be read; row {first.row} is {quote(first.molecule)}: {first.reason}")
    return dataclasses.replace(
        parsed,
        graphs=parsed.graphs.select(keep),
        positions=parsed.positions[keep],
        keys=tuple(itertools.compress(parsed.keys, keep)),
        skipped=tuple(skipped[position] for position in sorted(skipped)),
    )


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


def _find_smiles(table: Columns) -> str:
    found = [name for name in table.names if name.strip().lower() == "smiles"]
    if len(found) > 1:
        names = ", ".join(map(repr, found))
        raise InputError(
            f"{table.path}: has the columns {names}; expected one such column, or {table.option('SMILES')}"
        )
    return found[0] if found else "smiles"


def _without_number(rows: MoleculeRows, schema: LabelSchema | None) -> dict[int, Skipped]:
    if schema is None or schema.kind != "regression":
        return {}
    table = rows.table.without(schema.columns, schema.missing)
    return {
        position: Skipped(
            position + 1,
            molecule_title(rows.texts[position], rows.form),
            table.not_a_number(column, position).partition(": ")[2],
        )
        for column in schema.columns
        for position in table.not_numbers(column).tolist()
    }
