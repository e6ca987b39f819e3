"""Workbooks of Excel: the cells of the one sheet that has any, as text, so that all else is as in a CSV file."""

import datetime
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from deepergcn.data.storage.memory import check_memory
from deepergcn.errors import InputError, listed

_COPIES = 4  # of the content that are in memory while it is read


def read_excel(path: Path) -> Any:
    """The Arrow table of a workbook ``.xlsx``, all columns of text; its first row with a cell is the header.

    Rows without any cell are passed over, as blank lines of a text are. Whole numbers have no decimal point, dates are
    as in ISO 8601, and formulas have the values that were saved with them.
    """
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise InputError(
            f"{path}: a workbook needs the package python-calamine; install the extra: pip install "
            "'deepergcn[excel]', or save the sheet as CSV"
        ) from error
    _check_size(path)
    try:
        with CalamineWorkbook.from_path(path) as book:
            sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except (CalamineError, OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split()) or type(error).__name__}") from error
    filled = {name: rows for name, rows in sheets.items() if any(map(_has_cells, rows))}
    if len(filled) != 1:
        raise InputError(
            f"{path}: has {len(filled)} sheets with cells{f' ({listed(list(filled))})' if filled else ''}; expected "
            "one; save the sheet to read as a workbook of its own"
        )
    header, *rows = (row for row in next(iter(filled.values())) if _has_cells(row))
    return _table(path, [_text(cell).strip() for cell in header], [list(map(_text, row)) for row in rows])


def _table(path: Path, names: list[str], rows: list[list[str]]) -> Any:
    used = [number for number, name in enumerate(names) if name or any(row[number] for row in rows)]
    for number in used:
        if not names[number]:
            row = next(place for place, cells in enumerate(rows, start=1) if cells[number])
            raise InputError(
                f"{path}: row {row} has a cell in column {number + 1}, which has no name in the header; the header "
                "must be the first row with cells: remove titles above it"
            )
    columns = [pa.array([row[number] for row in rows], pa.string()) for number in used]
    return pa.Table.from_arrays(columns, names=[names[number] for number in used])


def _check_size(path: Path) -> None:
    """Check that the content fits into memory: a small file can expand a thousandfold."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{path}: cannot be read: it is not an .xlsx workbook, or it is damaged") from error
    check_memory(_COPIES * size, f"{path}: {size / 1e9:,.1f} GB of content or more")


def _has_cells(row: list[Any]) -> bool:
    return any(_text(cell).strip() for cell in row)


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.datetime):
        return str(cell.date()) if cell.time() == datetime.time() else cell.isoformat(" ")
    return str(cell)
