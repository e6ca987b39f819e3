"""Read and write CSV tables of numbers without a header, gzipped or not, fast and without loss."""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from deepergcn.data.storage.memory import check_memory
from deepergcn.errors import InputError, quote

_BLOCK = 1 << 22
_LONGEST_ROW = _BLOCK // 2
_MOST_GROWTH = 1032  # the most bytes that gzip shrinks to 1
_MISSING = ("", "nan", "NaN")
_INTEGER = re.compile(r"\s*(-?)0*([0-9]{1,20})\s*")
_FLOAT = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*|[+-]?inf(inity)?", re.IGNORECASE)

Numbers = npt.NDArray[Any]


def read_numbers(
    path: Path,
    dtype: npt.DTypeLike,
    *,
    rows: int | None = None,
    why: str = "",
    columns: int | None = None,
    missing: bool = False,
) -> Numbers:
    """Read a file as an array [rows, columns].

    Args:
        path: a CSV file without a header; gzipped if its name ends in ``.gz``.
        dtype: the dtype of all columns.
        rows: the expected number of rows, if known.
        why: where that number comes from, for the error.
        columns: the expected number of columns; by default that of the first row.
        missing: whether empty and ``nan`` entries are allowed; they become NaN.

    Raises:
        InputError: if the file is missing, empty, damaged or not as expected; names the file and the row.
    """
    dtype = np.dtype(dtype)
    first = _first_row(path)
    if not first and rows != 0:
        raise InputError(f"{path}: the file is empty; expected {_rows(rows, why)} of numbers")
    columns = columns or len(first.split(","))
    characters = path.stat().st_size * (_MOST_GROWTH if path.suffix == ".gz" else 1)
    if rows is not None and rows * (columns if missing else 2 * columns) > characters + 2:  # a digit and what ends it
        raise InputError(f"{path}: the file is too small for {_rows(rows, why)}")
    if not first:
        return np.empty((0, columns), dtype)
    blocks = _blocks(path, dtype, columns, missing)
    if rows is None:
        return np.concatenate(list(blocks))
    check_memory(rows * columns * dtype.itemsize, f"{path}: {_rows(rows, why)} of {count(columns, 'number')}")
    values = np.empty((rows, columns), dtype)
    done = 0
    for block in blocks:
        values[done : done + len(block)] = block[: max(rows - done, 0)]
        done += len(block)
    if done != rows:
        raise InputError(f"{path}: has {count(done, 'row')}; expected {_rows(rows, why)}")
    return values


def write_numbers(path: Path, values: Numbers) -> None:
    """Write an array [rows, columns], gzipped; :func:`read_numbers` returns the same bits."""
    columns = {str(j): pa.array(values[:, j]) for j in range(values.shape[1])}
    with path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as stream:
        if len(values):
            pa_csv.write_csv(pa.table(columns), stream, pa_csv.WriteOptions(include_header=False))


def count(number: int, noun: str) -> str:
    """A number with its noun, for messages."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _blocks(path: Path, dtype: np.dtype[Any], columns: int, missing: bool) -> Iterator[Numbers]:
    """Read the file in blocks, so that only one block is in memory besides the result."""
    names = [str(j) for j in range(columns)]
    types = dict.fromkeys(names, pa.from_numpy_dtype(dtype))
    try:
        with pa_csv.open_csv(
            path,
            read_options=pa_csv.ReadOptions(column_names=names, block_size=_BLOCK),
            parse_options=pa_csv.ParseOptions(ignore_empty_lines=False),
            convert_options=pa_csv.ConvertOptions(column_types=types, null_values=_MISSING),
        ) as reader:
            for batch in reader:
                if not missing and any(column.null_count for column in batch.columns):
                    _explain(path, dtype, columns, missing, "a value is missing")
                block = np.empty((batch.num_rows, columns), dtype)
                for j, column in enumerate(batch.columns):
                    block[:, j] = column.to_numpy(zero_copy_only=False)
                yield block
    except pa.ArrowInvalid as error:
        _explain(path, dtype, columns, missing, str(error))
    except OSError as error:
        raise InputError(f"{path}: the file is damaged or cut short ({_one_line(error)})") from error


def _open_text(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="")
    return path.open(encoding="utf-8", errors="replace", newline="")


def _first_row(path: Path) -> str:
    try:
        with _open_text(path) as file:
            line = str(file.readline(_LONGEST_ROW + 1))
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: the file is damaged or cut short ({_one_line(error)})") from error
    if len(line) > _LONGEST_ROW:
        raise InputError(f"{path}, row 1: is longer than {_LONGEST_ROW} characters")
    return line


def _explain(path: Path, dtype: np.dtype[Any], columns: int, missing: bool, complaint: str) -> NoReturn:
    """Raise an error that names the first wrong row, which a slow second pass finds."""
    expected = "an integer" if dtype.kind in "iu" else "a number"
    if dtype.kind == "u":
        expected += f" from 0 to {np.iinfo(dtype).max}"
    row = 0
    try:
        with _open_text(path) as file:
            for row, cells in enumerate(csv.reader(file), start=1):
                cells = cells or [""]
                if len(cells) != columns:
                    raise InputError(f"{path}, row {row}: has {count(len(cells), 'column')}; expected {columns}")
                for column, cell in enumerate(cells, start=1):
                    if not _fits(cell, dtype, missing):
                        place = f"row {row}" if columns == 1 else f"row {row}, column {column}"
                        found = quote(cell) if cell.strip() else "nothing"
                        raise InputError(f"{path}, {place}: has {found}; expected {expected}")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: the file is damaged or cut short ({_one_line(error)})") from error
    except csv.Error as error:
        raise InputError(f"{path}, row {row + 1}: cannot be read as numbers ({error})") from error
    raise InputError(f"{path}: cannot be read as numbers ({complaint.splitlines()[0]})")


def _fits(cell: str, dtype: np.dtype[Any], missing: bool) -> bool:
    if cell in _MISSING:
        return missing
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        found = _INTEGER.fullmatch(cell)
        return found is not None and limits.min <= int(found[1] + found[2]) <= limits.max
    return _FLOAT.fullmatch(cell) is not None


def _rows(rows: int | None, why: str) -> str:
    noun = "rows" if rows is None else count(rows, "row")
    return f"{noun} ({why})" if why and rows is not None else noun


def _one_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
