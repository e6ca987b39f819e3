"""SDF files: the records of molecules, and their properties as a table."""

import re
from pathlib import Path

import pyarrow as pa

from deepergcn.data.storage.source_files import read_bytes
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError

SDF_NAMES = (".sdf", ".sdf.gz")

TITLE = "_Name"
"""The column of the records' first lines, under the name that RDKit gives them."""

_END = re.compile(r"^\$\$\$\$.*\n?", re.MULTILINE)
_PROPERTY = re.compile(r"^>[^<\n]*<([^>\n]+)>.*\n((?:.*\S.*\n?)*+)", re.MULTILINE)


def read_sdf(path: Path) -> tuple[list[str], Columns]:
    """The text of every record, and a column of text for every property that any record has."""
    text = read_bytes(path).decode(errors="replace").replace("\r\n", "\n")
    records = _END.split(text)
    if not records[-1].strip():
        records.pop()
    if not records:
        raise InputError(f"{path}: the file is empty")
    rows = [
        {TITLE: record.partition("\n")[0], **{name: value.strip() for name, value in _PROPERTY.findall(record)}}
        for record in records
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}
    return records, Columns(path, pa.table(columns))
