"""SMILES files: a molecule a line, its name after it, and no header."""

from pathlib import Path

import pyarrow as pa

from deepergcn.data.storage.source_files import read_bytes
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError

SMILES, NAME = "smiles", "name"


def read_smi(path: Path) -> Columns:
    """The columns "smiles" and "name" of a file; a first line that begins with the word "smiles" is a header."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: has the byte 0x{error.object[error.start]:02x}; invalid UTF-8") from error
    rows = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    if rows and rows[0][0].lower() == SMILES:
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path}: the file is empty; expected a molecule in every line")
    names = [row[1].strip() if len(row) > 1 else None for row in rows]
    return Columns(path, pa.table({SMILES: [row[0] for row in rows], NAME: pa.array(names, pa.string())}))
