"""SMILES files: a molecule a line, its name after it, and no header."""

import codecs
import itertools
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from deepergcn.data.storage.source_files import read_pieces
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError

SMILES, NAME = "smiles", "name"

_PIECE = 1 << 20  # bytes that are read at a time


def read_smi(path: Path) -> Columns:
    """The columns "smiles" and "name" of a file; a first line that begins with the word "smiles" is a header."""
    return next(read_smi_blocks(path, None))


def read_smi_blocks(path: Path, rows: int | None) -> Iterator[Columns]:
    """The same columns in blocks of this number of rows; all in one if None. There is one row at least."""
    found = (line.split(None, 1) for line in _lines(path) if line.strip())
    first = next(found, None)
    if first is not None and first[0].lower() == SMILES:
        first = next(found, None)
    if first is None:
        raise InputError(f"{path}: the file is empty; expected a molecule in every line")
    everything = itertools.chain([first], found)
    while block := list(itertools.islice(everything, rows)):
        names = [row[1].strip() if len(row) > 1 else None for row in block]
        yield Columns(path, pa.table({SMILES: [row[0] for row in block], NAME: pa.array(names, pa.string())}))


def _lines(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    rest = ""
    try:
        for piece in read_pieces(path, _PIECE):
            *lines, rest = (rest + decoder.decode(piece)).split("\n")
            for line in lines:
                yield from line.splitlines()
        yield from (rest + decoder.decode(b"", final=True)).splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: has the byte 0x{error.object[error.start]:02x}; invalid UTF-8") from error
