"""Read SDF files: records of molecules, and their properties as a table."""

import codecs
import itertools
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from deepergcn.data.storage.source_files import read_pieces
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError, quote

TITLE = "_Name"
"""The column of the records' titles, under RDKit's name."""

_END = re.compile(r"^\$\$\$\$.*\n?", re.MULTILINE)
_BYTES_END = re.compile(rb"^\$\$\$\$", re.MULTILINE)
_COUNTS = re.compile(r".*V[23]000[ \t]*$")
_BLANK = re.compile(r"(?:[ \t]*\n)*+")
_PROPERTY = re.compile(r"^>[^<\n]*<([^>\n]+)>.*\n((?:.*\S.*\n?)*+)", re.MULTILINE)

_PIECE = 1 << 20  # bytes that are read at a time

_log = logging.getLogger(__name__)


def read_sdf(path: Path) -> tuple[list[str], Columns]:
    """The text of every record, and a text column for every property."""
    return next(read_sdf_blocks(path, None))


def read_sdf_blocks(path: Path, rows: int | None) -> Iterator[tuple[list[str], Columns]]:
    """The same in blocks of this number of records, all with the same columns; all in one if None.

    The file is read several times: for its encoding, for the names of the properties, and for the records.
    """
    encoding = _encoding(path)
    names = dict.fromkeys(
        name
        for number, record in enumerate(_records(path, encoding), start=1)
        for name in _properties(path, number, record)
    )
    if not names:
        raise InputError(f"{path}: the file is empty")
    records, before = _records(path, encoding), 0
    while block := list(itertools.islice(records, rows)):
        properties = [_properties(path, before + number, record) for number, record in enumerate(block, start=1)]
        before += len(block)
        columns = {name: pa.array([row.get(name) for row in properties], pa.string()) for name in names}
        yield block, Columns(path, pa.table(columns))


def _properties(path: Path, number: int, record: str) -> dict[str, str]:
    found = [(name, value.strip()) for name, value in _PROPERTY.findall(record)]
    properties = dict(found)
    if len(properties) < len(found):
        _check_repeated(path, number, found)
    return {TITLE: record.partition("\n")[0], **properties}


def _check_repeated(path: Path, number: int, found: list[tuple[str, str]]) -> None:
    """Check that a property that a record repeats has one value."""
    for name, value in found:
        if other := next((text for key, text in found if key == name and text != value), None):
            raise InputError(
                f"{path}: record {number} has the property {name!r} twice, {quote(value)} and {quote(other)}; "
                "expected one value"
            )


def _records(path: Path, encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    rest, line = "", ""
    for piece in read_pieces(path, _PIECE):
        line = line or ("\r" if b"\n" not in piece and b"\r" in piece else "\r\n")  # \r of an old Macintosh
        rest = (rest + decoder.decode(piece)).replace(line, "\n")
        start = 0
        for end in _END.finditer(rest):
            if end.end() == len(rest):
                break  # the line of the end may go on
            yield _from_title(rest[start : end.start()])
            start = end.end()
        rest = rest[start:]
    *records, last = _END.split(rest)
    yield from map(_from_title, records)
    if last.strip():
        yield _from_title(last)


def _from_title(record: str) -> str:
    """The record without blank lines before it: the fourth line of every record is that of its counts."""
    found = _BLANK.match(record)
    blank = 0 if found is None else found[0].count("\n")
    lines = record.split("\n", blank + 4) if blank else []
    counts = next((number for number, line in enumerate(lines[: blank + 4]) if _COUNTS.match(line)), 0)
    return "\n".join(lines[min(counts - 3, blank) :]) if counts > 3 else record


def _encoding(path: Path) -> str:
    """UTF-8, with a mark at its beginning or without, or Latin-1, which older programs write, with a warning."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    ended = 0
    try:
        for piece in read_pieces(path, _PIECE):
            if not ended and piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise InputError(f"{path}: is text in UTF-16; save it in UTF-8")
            decoder.decode(piece)
            ended += len(_BYTES_END.findall(piece))
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        _log.warning(
            "%s: record %d has the byte 0x%02x, which is not UTF-8; the file is read as Latin-1",
            path,
            ended + len(_BYTES_END.findall(error.object[: error.start])) + 1,
            error.object[error.start],
        )
        return "latin-1"
    return "utf-8-sig"
