"""SMILES files: a molecule a line, its name after it, and no header."""

import codecs
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from deepergcn.data.storage.source_files import read_pieces
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError

SMILES, NAME = "smiles", "name"

_PIECE = 1 << 20  # bytes that are read at a time


def read_smi(path: Path) -> Columns:
    """The columns "smiles" and "name" of a file; a first line that begins with the word "smiles" is a header.

    Lines that begin with ``#`` are comments.
    """
    return next(read_smi_blocks(path, None))


def read_smi_blocks(path: Path, rows: int | None) -> Iterator[Columns]:
    """The same columns in blocks of this number of rows; all in one if None. There is one row at least."""
    found = (_cells(line) for line in _lines(path) if line.strip() and not line.startswith("#"))
    first = next(found, None)
    if first is not None and first[0].lower() == SMILES:
        if "\t" in first[1] or "," in first[1]:
            raise InputError(f"{path}: has a header of more than two columns; rename it to end in .tsv or .csv")
        first = next(found, None)
    if first is None:
        raise InputError(f"{path}: the file is empty; expected a molecule on every line")
    everything = itertools.chain([first], found)
    while block := list(itertools.islice(everything, rows)):
        names = [row[1] or None for row in block]
        yield Columns(path, pa.table({SMILES: [row[0] for row in block], NAME: pa.array(names, pa.string())}))


def _cells(line: str) -> tuple[str, str]:
    """The SMILES of a line, with the extension of ChemAxon between bars if it has one, and the name after it."""
    smiles, *rest = line.split(None, 1)
    name = rest[0].strip() if rest else ""
    extension = re.match(r"\|[^|]*\|", name)
    if extension is None:
        return smiles, name
    return f"{smiles} {extension[0]}", name[extension.end() :].strip()


def _lines(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    rest = ""
    ends = dict.fromkeys((b"\n", b"\r"), 0)  # the larger number is that of the lines, whichever of them end a line
    try:
        for piece in read_pieces(path, _PIECE):
            *lines, rest = (rest + decoder.decode(piece)).split("\n")
            ends = {end: count + piece.count(end) for end, count in ends.items()}
            for line in lines:
                yield from line.splitlines()
        yield from (rest + decoder.decode(b"", final=True)).splitlines()
    except UnicodeDecodeError as error:
        line_number = 1 + max(count + error.object.count(end, 0, error.start) for end, count in ends.items())
        byte = error.object[error.start]
        raise InputError(
            f"{path}: line {line_number} has the byte 0x{byte:02x}, which is not UTF-8; expected text in UTF-8"
        ) from error
