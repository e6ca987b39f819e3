"""CSV files with a header: every cell stays text, and errors name the damaged row."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from deepergcn.data.storage.source_files import read_bytes, read_pieces
from deepergcn.errors import InputError, quote

_BLOCK = 1 << 26  # bytes that are parsed at a time; a row must fit
_STREAMED = 1 << 22  # bytes that are read at a time where not all of a file is

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
"""The delimiters that are detected, and their names."""


@dataclass(frozen=True)
class _Syntax:
    """The cells of a file, with this byte between them."""

    delimiter: bytes

    @cached_property
    def cell(self) -> bytes:
        other = rb"[^" + re.escape(self.delimiter) + rb"\r\n]"
        return rb'(?:"[^"]*+(?:""[^"]*+)*+"|(?!")' + other + other + rb"*+|)"

    @cached_property
    def end(self) -> bytes:
        return rb"(?:" + re.escape(self.delimiter) + rb"|\r\n|\n|\r|\Z)"

    @cached_property
    def sound(self) -> re.Pattern[bytes]:
        return re.compile(rb"(?>" + self.cell + self.end + rb")*+")

    @cached_property
    def cells(self) -> re.Pattern[bytes]:
        return re.compile(rb"(" + self.cell + rb")(" + self.end + rb")")

    @cached_property
    def header(self) -> re.Pattern[bytes]:
        start = rb"(?:\xef\xbb\xbf)?[\r\n]*+(?>"
        return re.compile(start + self.cell + re.escape(self.delimiter) + rb")*+" + self.cell)

    @cached_property
    def rows(self) -> re.Pattern[bytes]:
        row = rb"(?>" + self.cell + re.escape(self.delimiter) + rb")*+" + self.cell + rb"(?:\r\n|\n|\r)"
        return re.compile(rb"(?:\xef\xbb\xbf)?(?>" + row + rb")*+")

    def end_of_rows(self, content: bytes) -> int:
        """Where the last whole row ends."""
        if b'"' not in content:
            return max(content.rfind(b"\n"), content.rfind(b"\r")) + 1
        whole = self.rows.match(content)
        return 0 if whole is None else whole.end()


_NO_TEXT = {
    b"\xff\xfe": "is text in UTF-16; save it as CSV UTF-8",
    b"\xfe\xff": "is text in UTF-16; save it as CSV UTF-8",
    b"\x1f\x8b": "is compressed with gzip; rename it to end in .gz",
    b"PK\x03\x04": "is a workbook or an archive; rename a workbook to end in .xlsx, or unpack the archive",
    b"\xd0\xcf\x11\xe0": "is a workbook in an old format; save it as .xlsx, or its sheet as CSV",
}
"""The first bytes of files that are not text, and what to do with such a file."""
_FIRST_LINE = re.compile(rb'(?:\xef\xbb\xbf)?[\r\n]*+(?:"[^"]*+"|[^"\r\n])*+')
_QUOTED = re.compile(rb'"[^"]*+"')
_UNCLOSED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+\Z')


def read_csv(path: Path, delimiter: str | None = None) -> tuple[Any, str]:
    """The Arrow table of a file with a header, all columns as text, and its delimiter.

    The delimiter of a ``.tsv`` file is a tab, that of any other a comma, unless the header has no comma but a semicolon
    or a tab.
    """
    content = read_bytes(path)
    delimiter = _check_delimiter(delimiter) if delimiter is not None else _find_delimiter(path, content)
    return _parse(path, content, _Syntax(delimiter.encode())), delimiter


def read_csv_blocks(path: Path, delimiter: str | None = None, size: int = _STREAMED) -> Iterator[Any]:
    """The same table in blocks of about this number of bytes, whole rows each; there is one at least."""
    found = None if delimiter is None else _Syntax(_check_delimiter(delimiter).encode())
    header, rest, rows = b"", b"", 0
    for piece, last in _with_last(read_pieces(path, size)):
        rest += piece
        syntax = found or _Syntax(_find_delimiter(path, rest).encode())
        end = len(rest) if last or len(rest) > _BLOCK else syntax.end_of_rows(rest)
        if not last and not end:
            continue
        if found is None or not header:
            start = syntax.header.match(rest)
            found, header = syntax, b"" if start is None else start[0] + b"\n"
            block = rest[:end]
        else:
            block = header + rest[:end]
        table = _parse(path, block, syntax, rows)
        rest, rows = rest[end:], rows + table.num_rows
        yield table


def _with_last(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Every piece, and whether it is the last; an empty one if there is none."""
    piece = next(pieces, b"")
    for following in pieces:
        yield piece, False
        piece = following
    yield piece, True


def _parse(path: Path, content: bytes, syntax: "_Syntax", before: int = 0) -> Any:
    """The Arrow table of a content with a header, ``before`` which there are this many rows of the file."""
    delimiter = syntax.delimiter.decode()
    for start, what in _NO_TEXT.items():
        if not before and content.startswith(start):
            raise InputError(f"{path}: {what}")
    _check_quotes(path, content, syntax, before)
    if (place := content.find(b"\0")) >= 0:
        raise InputError(f"{path}: {_row(content, place, syntax, before)} has a NUL byte; expected text in UTF-8")
    _check_utf8(path, content, syntax, before)  # Arrow would print a traceback where a short row is not text either
    header = syntax.header.match(content)
    if header is None or not content[header.start() : header.end()].strip(b"\xef\xbb\xbf\r\n"):
        raise InputError(f"{path}: the file is empty; expected a header")
    if header.end() == len(content):  # Arrow takes a header without the end of its line for nothing
        content += b"\n"
    bad_rows: list[Any] = []

    def refuse(row: Any) -> str:
        bad_rows.append(row)
        return "error"

    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse)
    # With threads a bad row has no number.
    read = pyarrow.csv.ReadOptions(use_threads=False, block_size=min(max(len(content), 1), _BLOCK))
    try:
        names = pyarrow.csv.read_csv(_stream(header[0] + b"\n"), read_options=read, parse_options=parse).column_names
        text = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        return pyarrow.csv.read_csv(_stream(content), read_options=read, parse_options=parse, convert_options=text)
    except pa.ArrowInvalid as error:
        if bad_rows:
            bad = bad_rows[0]
            row, found, expected = bad.number - 1 + before, bad.actual_columns, bad.expected_columns
            first = quote(header[0].decode().strip("\ufeff\r\n"))
            others = [name for character, name in DELIMITERS.items() if character in header[0].decode()]
            more = "; name the delimiter with --delimiter" if len(others) > 1 else ""
            raise InputError(
                f"{path}: row {row} has {found} columns; expected {expected}, as in the header {first}{more}"
            ) from error
        if "straddling" in str(error):
            raise InputError(f"{path}: a row is longer than {_BLOCK >> 20} MB") from error
        raise


def _stream(content: bytes) -> Any:
    return pa.BufferReader(pa.py_buffer(content))


def _check_delimiter(delimiter: str) -> str:
    named = {name: character for character, name in DELIMITERS.items()} | {"\\t": "\t"}
    delimiter = named.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum() or delimiter in '"\r\n\0':
        raise InputError(
            f"delimiter is {quote(delimiter)}; expected {', '.join(DELIMITERS.values())} or another single character"
        )
    return delimiter


def _find_delimiter(path: Path, content: bytes) -> str:
    if path.name.lower().endswith((".tsv", ".tsv.gz")):
        return "\t"
    header = _FIRST_LINE.match(content)
    between = _QUOTED.sub(b"", b"" if header is None else header[0])
    found = [character for character in DELIMITERS if character.encode() in between]
    return found[0] if found else ","


def _check_quotes(path: Path, content: bytes, syntax: _Syntax, before: int) -> None:
    """Check that every quote that opens a cell is closed at its end; Arrow would swallow the rows after it."""
    if b'"' not in content:
        return
    sound = syntax.sound.match(content)
    place = 0 if sound is None else sound.end()
    if place < len(content):
        row = _row(content, place, syntax, before)
        if _UNCLOSED.match(content, place):
            raise InputError(f"{path}: {row} has a quote that is never closed")
        raise InputError(f"{path}: {row} has text after a closing quote; expected a delimiter or the end of the row")


def _check_utf8(path: Path, content: bytes, syntax: _Syntax, before: int) -> None:
    if content.isascii():
        return
    try:
        content.decode()
    except UnicodeDecodeError as error:
        byte = content[error.start]
        place = _row(content, error.start, syntax, before)
        raise InputError(
            f"{path}: {place} has the byte 0x{byte:02x}, which is not UTF-8; save the file as CSV UTF-8"
        ) from error


def _row(content: bytes, place: int, syntax: _Syntax, before: int) -> str:
    """The row of this byte, counted from 1 without the header and blank lines."""
    rows, blank = 0, True
    for cell in syntax.cells.finditer(content, 0, place):
        blank = blank and not cell[1] and cell[2] != syntax.delimiter
        if cell.end() > place or cell[2] in (syntax.delimiter, b""):
            continue
        rows, blank = rows + (not blank), True
    return f"row {rows + before}" if rows else "the header"
