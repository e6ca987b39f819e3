"""Tables of a user's own files, column by column: text, numbers and gaps, with errors that name the row."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from deepergcn.errors import InputError

GAPS = ("", "NA", "N/A", "<NA>", "NaN", "nan", "null", "NULL", "None")
"""The cells that are gaps in a column of numbers or labels; in any other column only the empty one is."""

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$"

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

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.table.column_names)

    def quoted_names(self) -> str:
        """The names of all columns, for an error message."""
        return ", ".join(map(repr, self.names))

    def take(self, rows: npt.NDArray[np.int64]) -> "Columns":
        """These rows, counted from 0."""
        return Columns(self.path, self.table.take(pa.array(rows)))

    def require(self, names: Sequence[str], purpose: str) -> None:
        """Check that the columns exist."""
        for name in names:
            if name not in self.names:
                raise InputError(
                    f"{self.path}: there is no column {name!r} for the {purpose}; the columns are {self.quoted_names()}"
                )

    def text(self, name: str) -> Any:
        """The cells as an Arrow array of text without blanks around it, null where empty."""
        cells = self.table.column(name).combine_chunks()
        if pa.types.is_floating(cells.type):
            cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
            if _is_whole(cells):
                cells = cells.cast(pa.int64())  # integers with gaps come out of pandas as floats
        try:
            trimmed = pc.utf8_trim_whitespace(cells.cast(pa.string()))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(f"{self.path}: column {name!r} has type {cells.type}; expected text") from error
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)

    def labels(self, name: str) -> Any:
        """The cells as text, null where one of :data:`GAPS` stands."""
        text = self.text(name)
        return pc.if_else(pc.is_in(text, pa.array(GAPS)), pa.scalar(None, pa.string()), text)

    def not_numbers(self, name: str) -> npt.NDArray[np.int64]:
        """The rows, from 0, whose cell is neither a finite number nor a gap."""
        if self._numeric(name) is not None:
            return np.flatnonzero(np.isinf(self._numeric(name).fill_null(np.nan)))
        matches = pc.match_substring_regex(self.labels(name), _NUMBER).fill_null(True)
        return np.flatnonzero(~matches.to_numpy(zero_copy_only=False))

    def is_numeric(self, name: str) -> bool:
        """Whether every cell is a number or a gap, and not all are gaps."""
        return not len(self.not_numbers(name)) and self.labels(name).null_count < len(self)

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """The cells as finite numbers, NaN where one of :data:`GAPS` stands."""
        bad = self.not_numbers(name)
        if len(bad):
            raise InputError(f"{self.path}: {self.not_a_number(name, bad[0])}")
        cells = self._numeric(name)
        cells = self.labels(name).cast(pa.float64()) if cells is None else cells
        values: npt.NDArray[np.float64] = cells.fill_null(np.nan).to_numpy(zero_copy_only=False)
        return values

    def not_a_number(self, name: str, row: int) -> str:
        """The error for such a cell."""
        return f"row {row + 1}: column {name!r} is {self.text(name)[row].as_py()!r}; expected a number"

    def _numeric(self, name: str) -> Any:
        cells = self.table.column(name).combine_chunks()
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        return cells.cast(pa.float64()) if any(is_kind(cells.type) for is_kind in kinds) else None


def read_columns(path: Path) -> Columns:
    """Read a file ``.csv``, ``.csv.gz`` (with a header) or ``.parquet``; the cells of a CSV stay text."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    try:
        if path.name.lower().endswith(CSV_NAMES):
            table = _read_csv(path)
        elif path.name.lower().endswith(PARQUET_NAMES):
            table = pyarrow.parquet.read_table(path)
        else:
            raise InputError(f"{path}: expected a name that ends in {', '.join(CSV_NAMES + PARQUET_NAMES)}")
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    for name in table.column_names:
        if table.column_names.count(name) > 1:
            raise InputError(f"{path}: two columns are called {name!r}")
    return Columns(path, table)


def _read_csv(path: Path) -> Any:
    bad_rows: list[Any] = []

    def refuse(row: Any) -> str:
        bad_rows.append(row)
        return "error"

    parse = pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse)
    read = pyarrow.csv.ReadOptions(use_threads=False)  # with threads a bad row has no number
    try:
        with pyarrow.csv.open_csv(path, read_options=read, parse_options=parse) as reader:
            names = reader.schema.names
        text = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        return pyarrow.csv.read_csv(path, read_options=read, parse_options=parse, convert_options=text)
    except pa.ArrowInvalid as error:
        if not bad_rows:
            raise
        bad = bad_rows[0]
        raise InputError(
            f"{path}: row {bad.number - 1} has {bad.actual_columns} columns; expected {bad.expected_columns}"
        ) from error


def _is_whole(numbers: Any) -> bool:
    values = numbers.drop_null().to_numpy(zero_copy_only=False)
    return bool((np.abs(values) < 2**53).all() and (values == np.floor(values)).all())
