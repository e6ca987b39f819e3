"""Tables of a user's own files, column by column: text, numbers and gaps, with errors that name the row."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from deepergcn.data.storage.source_files import check_file
from deepergcn.data.tables.csv_file import read_csv
from deepergcn.errors import InputError, listed, quote

GAPS = ("", "NA", "N/A", "<NA>", "NaN", "nan", "null", "NULL", "None")
"""The cells that are gaps in a column of numbers or labels; in any other column only the empty one is."""

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

CSV_NAMES, PARQUET_NAMES = (".csv", ".csv.gz"), (".parquet",)


@contextlib.contextmanager
def errors_in(path: Path) -> Iterator[None]:
    """Let errors inside begin with the name of the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a file. Rows are counted from 1, without the header and blank lines."""

    path: Path
    table: Any

    def __len__(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.table.column_names)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def quoted_names(self) -> str:
        """The names of all columns, for an error message."""
        return listed(list(map(repr, self.names)))

    def take(self, rows: npt.NDArray[np.int64]) -> "Columns":
        """These rows, counted from 0."""
        return Columns(self.path, self.table.take(pa.array(rows)))

    def require(self, names: Sequence[str], purpose: str) -> None:
        """Check that the columns exist."""
        for name in names:
            if name not in self._positions:
                raise InputError(
                    f"{self.path}: there is no column {quote(name)} for the {purpose}; "
                    f"the columns are {self.quoted_names()}"
                )

    def text(self, name: str) -> Any:
        """The cells as an Arrow array of text without blanks around it, null where empty."""
        cells = self._cells(name)
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
        """The cells as text, null where one of :data:`GAPS` stands."""
        text = self.text(name)
        return pc.if_else(pc.is_in(text, pa.array(GAPS)), pa.scalar(None, pa.string()), text)

    def not_numbers(self, name: str) -> npt.NDArray[np.int64]:
        """The rows, from 0, whose cell is neither a finite number nor a gap."""
        return np.flatnonzero(self._parsed(name)[1])

    def is_numeric(self, name: str) -> bool:
        """Whether every cell is a number or a gap, and not all are gaps."""
        values, bad = self._parsed(name)
        return not bad.any() and not np.isnan(values).all()

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """The cells as finite numbers, NaN where one of :data:`GAPS` stands."""
        values, bad = self._parsed(name)
        if bad.any():
            raise InputError(f"{self.path}: {self.not_a_number(name, int(bad.argmax()))}")
        return values

    def not_a_number(self, name: str, row: int) -> str:
        """The error for such a cell."""
        return f"row {row + 1}: column {name!r} is {quote(self.text(name)[row].as_py())}; expected a number"

    def _cells(self, name: str) -> Any:
        cells = self.table.column(self._positions[name]).combine_chunks()
        try:
            cells.validate(full=True)  # Arrow does not look at the text of a parquet file
        except pa.ArrowException as error:
            raise InputError(f"{self.path}: column {name!r} is damaged: {_first_line(error)}") from error
        return cells

    def _parsed(self, name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """The cells as numbers, NaN where they are none, and whether each is neither a finite number nor a gap."""
        cells = self._cells(name)
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        if any(is_kind(cells.type) for is_kind in kinds):
            numbers, other = cells.cast(pa.float64(), safe=False), np.zeros(len(cells), dtype=bool)
        else:
            text = self.labels(name)
            matches = pc.match_substring_regex(text, _NUMBER)
            numbers = pc.if_else(matches, text, pa.scalar(None, pa.string())).cast(pa.float64())
            other = pc.invert(matches).fill_null(False).to_numpy(zero_copy_only=False)
        values: npt.NDArray[np.float64] = numbers.fill_null(np.nan).to_numpy(zero_copy_only=False)
        return np.where(np.isinf(values), np.nan, values), other | np.isinf(values)


def read_columns(path: Path) -> Columns:
    """Read a file ``.csv``, ``.csv.gz`` (with a header) or ``.parquet``; the cells of a CSV stay text."""
    check_file(path)
    try:
        if path.name.lower().endswith(CSV_NAMES):
            table = read_csv(path)
        elif path.name.lower().endswith(PARQUET_NAMES):
            with pyarrow.parquet.ParquetFile(path) as file:
                table = file.read()
        else:
            raise InputError(f"{path}: expected a name that ends in {', '.join(CSV_NAMES + PARQUET_NAMES)}")
        names = Counter(table.column_names)
    except (pa.ArrowException, UnicodeDecodeError, OSError, MemoryError) as error:
        raise InputError(f"{path}: cannot be read: {_first_line(error)}") from error
    for name, times in names.items():
        if times > 1:
            raise InputError(f"{path}: two columns are called {name!r}")
    return Columns(path, table)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _is_whole(numbers: Any) -> bool:
    values = numbers.drop_null().to_numpy(zero_copy_only=False)
    return bool((np.abs(values) < 2**53).all() and (values == np.floor(values)).all())
