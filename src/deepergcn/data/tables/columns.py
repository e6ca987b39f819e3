"""Tables of a user's own files, column by column: text, numbers and gaps, with errors that name the row."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from deepergcn.data.storage.digest import file_digest
from deepergcn.data.storage.endings import CSV_NAMES, EXCEL_NAMES, TABLE_NAMES, check_name
from deepergcn.data.storage.source_files import check_file
from deepergcn.data.tables.csv_file import DELIMITERS, read_csv, read_csv_blocks
from deepergcn.data.tables.excel import read_excel
from deepergcn.data.tables.written import number_hint
from deepergcn.errors import InputError, listed, quote

GAPS = ("", "NA", "N/A", "<NA>", "NaN", "nan", "null", "NULL", "None")
"""The cells that are gaps in a column of numbers or labels; in any other column only the empty one is."""

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

_NUMBER_TYPES = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)

_BATCH = 10_000  # rows of a parquet file that are read at a time where not all are

_OPTIONS = {
    "SMILES": ("--smiles-column", "smiles_column"),
    "ids": ("--id-column", "id_column"),
    "edges": ("--source-column or --target-column", "source_column or target_column"),
    "links": ("--source-column or --target-column", "source_column or target_column"),
}
"""What names the column for a purpose: an option of the program, or an argument for a table in memory."""


@contextlib.contextmanager
def errors_in(path: Path) -> Iterator[None]:
    """Let errors in this context begin with the name of the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table. Rows are counted from 1, without the header and blank lines; names have no blanks around.

    Args:
        path: The file that it was read from, for errors.
        table: The Arrow table.
        delimiter: The delimiter between the cells of a text file.
        in_memory: Whether the table is in memory; ``path`` is then only a name for errors.
        literal: The columns in which only empty cells are gaps, and not the words of :data:`GAPS`.
    """

    path: Path
    table: Any
    delimiter: str | None = None
    in_memory: bool = False
    literal: frozenset[str] = frozenset()

    def __len__(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    def digest(self) -> str:
        """The digest of the file; empty for a table in memory."""
        return "" if self.in_memory else file_digest(self.path)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(name.strip() for name in self.table.column_names)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def quoted_names(self) -> str:
        """The names of all columns, for an error message."""
        return listed(list(map(repr, self.names)))

    def columns(self) -> dict[str, list[Any]]:
        """The cells of every column, as they are."""
        return {name: self._cells(name).to_pylist() for name in self.names}

    def arrays(self) -> dict[str, Any]:
        """The cells of every column, as Arrow arrays."""
        return {name: self._cells(name) for name in self.names}

    def take(self, rows: npt.NDArray[np.int64]) -> "Columns":
        """These rows, counted from 0."""
        return replace(self, table=self.table.take(pa.array(rows)))

    def slice(self, start: int, stop: int) -> "Columns":
        """The rows from ``start``, counted from 0, up to ``stop``."""
        return replace(self, table=self.table.slice(start, stop - start))

    def without(self, names: Sequence[str], values: Sequence[str]) -> "Columns":
        """The table with a gap in these columns for each of the values; numbers are compared as numbers.

        With an empty value only empty cells and the other values are gaps, and not the words of :data:`GAPS`.
        """
        if not values:
            return self
        self.require(names, "labels")
        if "" in values:
            others = [value for value in values if value]
            return replace(self, literal=self.literal.union(map(str.strip, names))).without(names, others)
        numbers = [float(value) for value in values if re.match(_NUMBER, value)]
        table = self.table
        for name in names:
            text, position = self.text(name), self._positions[name.strip()]
            gone = pc.is_in(text, pa.array(list(values))).to_numpy(zero_copy_only=False)
            gone |= np.isin(self._parsed(name)[0], numbers)
            kept = pc.if_else(pa.array(gone), pa.scalar(None, pa.string()), text)
            table = table.set_column(position, table.column_names[position], kept)
        return replace(self, table=table)

    def require(self, names: Sequence[str], purpose: str) -> None:
        """Check that the columns exist."""
        for name in names:
            if name.strip() not in self._positions:
                option = f"; name another with {self.option(purpose)}" if purpose in _OPTIONS else ""
                raise InputError(
                    f"{self.path}: there is no column {quote(name)} for the {purpose}; "
                    f"the columns are {self.quoted_names()}{self._not_divided() or option}{self._no_header()}"
                )

    def _not_divided(self) -> str:
        """Advice for a file whose header seems to have another delimiter, for an error message."""
        if self.delimiter is None or len(self.names) > 1 or not re.search(r"[,;|\t]", self.names[0]):
            return ""
        delimiter = DELIMITERS.get(self.delimiter, quote(self.delimiter))
        return f", with a {delimiter} as the delimiter; name another with --delimiter"

    def _no_header(self) -> str:
        """Advice for a file whose first line is not its header, for an error message."""
        found = re.match(r"[#%]|sep=", self.names[0] if self.names else "")
        return (
            f"; the first line must be the header: remove the lines before it that begin with {found[0]!r}"
            if found
            else ""
        )

    def where(self, name: str, cell: str) -> str:
        """The cell and its first row, for an error message."""
        return f"{quote(cell)} in row {self.text(name).to_pylist().index(cell) + 1}"

    def option(self, purpose: str) -> str:
        """The option or argument that names the column of the SMILES, the ids or the edges."""
        return _OPTIONS[purpose][self.in_memory]

    def text(self, name: str) -> Any:
        """The cells as an Arrow array of text without blanks around it, null where empty."""
        cells = self._cells(name)
        if pa.types.is_duration(cells.type):  # which Arrow writes as a number without its unit
            raise InputError(f"{self.path}: column {name!r} holds durations; expected numbers or text")
        if pa.types.is_floating(cells.type):
            cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
            if _is_whole(cells):
                cells = cells.cast(pa.int64())  # integers with gaps come out of pandas as floats
        try:
            trimmed = pc.utf8_trim_whitespace(cells.cast(pa.string()))
        except pa.ArrowException as error:
            raise InputError(f"{self.path}: column {name!r} has type {cells.type}; expected text") from error
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)

    def labels(self, name: str) -> Any:
        """The cells as text, null for :data:`GAPS`, unless the column is literal."""
        text = self.text(name)
        if name.strip() in self.literal:
            return text
        return pc.if_else(pc.is_in(text, pa.array(GAPS)), pa.scalar(None, pa.string()), text)

    def not_numbers(self, name: str) -> npt.NDArray[np.int64]:
        """The rows, from 0, whose cell is neither a finite number nor a gap."""
        return np.flatnonzero(self._parsed(name)[1])

    def is_numeric(self, name: str) -> bool:
        """Whether every cell is a number or a gap, and not all are gaps."""
        values, bad = self._parsed(name)
        return not bad.any() and not np.isnan(values).all()

    def is_number_type(self, name: str) -> bool:
        """Whether the column holds numbers by its type, as in parquet, and not text that may be numbers."""
        kind = self.table.column(self._positions[name.strip()]).type
        return any(is_kind(kind) for is_kind in _NUMBER_TYPES)

    def is_text_type(self, name: str) -> bool:
        """Whether the column holds text by its type, as all columns of a CSV file do."""
        kind = self.table.column(self._positions[name.strip()]).type
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """The cells as finite numbers, NaN for :data:`GAPS`."""
        values, bad = self._parsed(name)
        if bad.any():
            raise InputError(f"{self.path}: {self.not_a_number(name, int(bad.argmax()))}")
        return values

    def not_a_number(self, name: str, row: int) -> str:
        """The error for a cell that is not a number, with a hint at what to write instead if there is one."""
        cell = self.text(name)[row].as_py() or ""
        hint = number_hint(cell)
        shown = "" if hint is None else f" ({hint})"
        return f"row {row + 1}: column {name!r} is {quote(cell)}; expected a number{shown}"

    def _cells(self, name: str) -> Any:
        cells = self.table.column(self._positions[name.strip()]).combine_chunks()
        try:
            cells.validate(full=True)  # Arrow does not look at the text of a parquet file
        except pa.ArrowException as error:
            raise InputError(f"{self.path}: column {name!r} is damaged: {_first_line(error)}") from error
        return cells

    def _parsed(self, name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """The cells as numbers, NaN where they are none, and whether each is neither a finite number nor a gap."""
        cells = self._cells(name)
        if self.is_number_type(name):
            numbers, other = cells.cast(pa.float64(), safe=False), np.zeros(len(cells), dtype=bool)
        else:
            text = self.labels(name)
            matches = pc.match_substring_regex(text, _NUMBER)
            numbers = pc.if_else(matches, text, pa.scalar(None, pa.string())).cast(pa.float64())
            other = pc.invert(matches).fill_null(False).to_numpy(zero_copy_only=False)
        values: npt.NDArray[np.float64] = numbers.fill_null(np.nan).to_numpy(zero_copy_only=False)
        return np.where(np.isinf(values), np.nan, values), other | np.isinf(values)


def as_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """The names of columns, where one may be given alone."""
    return (names,) if isinstance(names, str) else tuple(names)


def other_columns(table: Columns, taken: set[str]) -> tuple[str, ...]:
    """The columns of a table that have no other role."""
    return tuple(name for name in table.names if name not in taken)


def read_columns(path: Path, delimiter: str | None = None) -> Columns:
    """Read a ``.csv`` or ``.tsv`` file with a header (or ``.gz`` of it), a ``.parquet`` or an ``.xlsx`` file.

    The cells of text files and workbooks stay text.

    Args:
        path: The file.
        delimiter: The delimiter between the cells of a text file; by default detected, see :func:`read_csv`.
    """
    check_file(path)
    check_name(path, TABLE_NAMES)
    found, name = None, path.name.lower()
    with _arrow_errors(path):
        if name.endswith(CSV_NAMES):
            table, found = read_csv(path, delimiter)
        elif name.endswith(EXCEL_NAMES):
            table = read_excel(path)
        else:
            with pyarrow.parquet.ParquetFile(path) as file:
                table = file.read()
    return _named(Columns(path, table, found))


def read_column_blocks(path: Path, delimiter: str | None = None) -> Iterator[Columns]:
    """As :func:`read_columns`, in blocks of some megabytes; a workbook is one block."""
    check_file(path)
    check_name(path, TABLE_NAMES)
    name = path.name.lower()
    if name.endswith(EXCEL_NAMES):
        yield read_columns(path)
        return
    with _arrow_errors(path):
        if name.endswith(CSV_NAMES):
            for table in read_csv_blocks(path, delimiter):
                yield _named(Columns(path, table))
            return
        with pyarrow.parquet.ParquetFile(path) as file:
            yield _named(Columns(path, file.schema_arrow.empty_table()))
            for batch in file.iter_batches(_BATCH):
                yield Columns(path, pa.Table.from_batches([batch]))


@contextlib.contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError, MemoryError) as error:
        raise InputError(f"{path}: cannot be read: {_first_line(error)}") from error


def _named(columns: Columns) -> Columns:
    """The columns, if no two of them have the same name; several that have no name are left out if they are empty."""
    with _arrow_errors(columns.path):
        columns = _without_nameless(columns)
        names = Counter(name.strip() for name in columns.table.column_names)
    for name, times in names.items():
        if times > 1:
            raise InputError(f"{columns.path}: two columns are called {name!r}; expected different names")
    return columns


def _without_nameless(columns: Columns) -> Columns:
    """Without the columns of delimiters at the ends of the lines, as spreadsheets write them."""
    table = columns.table
    nameless = [position for position, name in enumerate(table.column_names) if not name.strip()]
    texts = {text for position in nameless for text in table.column(position).unique().to_pylist()}
    if len(nameless) < 2 or any(str(text).strip() for text in texts if text is not None):
        return columns
    return replace(columns, table=table.select([n for n in range(table.num_columns) if n not in nameless]))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _is_whole(numbers: Any) -> bool:
    values = numbers.drop_null().to_numpy(zero_copy_only=False)
    return bool((np.abs(values) < 2**53).all() and (values == np.floor(values)).all())
