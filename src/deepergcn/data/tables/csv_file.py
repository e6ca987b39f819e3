"""CSV files with a header: every cell stays text, and every damage is an error that names the row."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from deepergcn.data.storage.source_files import read_bytes
from deepergcn.errors import InputError

_BLOCK = 1 << 26  # bytes that are parsed at a time; a row must fit

_CELL = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^",\r\n][^,\r\n]*+|)'
_END = rb"(?:,|\r\n|\n|\r|\Z)"
_SOUND = re.compile(rb"(?>" + _CELL + _END + rb")*+")
_CELLS = re.compile(rb"(" + _CELL + rb")(" + _END + rb")")
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]*+(?>" + _CELL + rb",)*+" + _CELL)
_UNCLOSED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+\Z')


def read_csv(path: Path) -> Any:
    """The Arrow table of a file ``.csv`` or ``.csv.gz``, all columns of text."""
    content = read_bytes(path)
    _check_quotes(path, content)
    if (place := content.find(b"\0")) >= 0:
        raise InputError(f"{path}: {_row(content, place)} has a NUL byte; expected text in UTF-8")
    _check_utf8(path, content)  # Arrow would print a traceback where a row that is too short is not text either
    header = _HEADER.match(content)
    if header is None or not content[header.start() : header.end()].strip(b"\xef\xbb\xbf\r\n"):
        raise InputError(f"{path}: the file is empty; expected a header")
    bad_rows: list[Any] = []

    def refuse(row: Any) -> str:
        bad_rows.append(row)
        return "error"

    parse = pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse)
    # With threads a bad row has no number.
    read = pyarrow.csv.ReadOptions(use_threads=False, block_size=min(max(len(content), 1), _BLOCK))
    try:
        names = pyarrow.csv.read_csv(_stream(header[0] + b"\n"), read_options=read, parse_options=parse).column_names
        text = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        return pyarrow.csv.read_csv(_stream(content), read_options=read, parse_options=parse, convert_options=text)
    except pa.ArrowInvalid as error:
        if bad_rows:
            bad = bad_rows[0]
            found, expected = bad.actual_columns, bad.expected_columns
            raise InputError(f"{path}: row {bad.number - 1} has {found} columns; expected {expected}") from error
        if "straddling" in str(error):
            raise InputError(f"{path}: a row is longer than {_BLOCK >> 20} MB") from error
        raise


def _stream(content: bytes) -> Any:
    return pa.BufferReader(pa.py_buffer(content))


def _check_quotes(path: Path, content: bytes) -> None:
    """Check that every quote that opens a cell is closed at its end; Arrow would swallow the rows after it."""
    if b'"' not in content:
        return
    sound = _SOUND.match(content)
    place = 0 if sound is None else sound.end()
    if place < len(content):
        row = _row(content, place)
        if _UNCLOSED.match(content, place):
            raise InputError(f"{path}: {row} has a quote that is never closed")
        raise InputError(f"{path}: {row} has text after a closing quote; expected a comma or the end of the row")


def _check_utf8(path: Path, content: bytes) -> None:
    if content.isascii():
        return
    try:
        content.decode()
    except UnicodeDecodeError as error:
        byte = content[error.start]
        raise InputError(f"{path}: {_row(content, error.start)} has the byte 0x{byte:02x}; invalid UTF-8") from error


def _row(content: bytes, place: int) -> str:
    """The row of this byte, counted from 1 without the header and blank lines."""
    rows, blank = 0, True
    for cell in _CELLS.finditer(content, 0, place):
        blank = blank and not cell[1] and cell[2] != b","
        if cell.end() > place or cell[2] in (b",", b""):
            continue
        rows, blank = rows + (not blank), True
    return f"row {rows}" if rows else "the header"
