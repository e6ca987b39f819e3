"""Read SDF files: records of molecules, and their properties as a table."""

import logging
import re
from pathlib import Path

import pyarrow as pa

from deepergcn.data.storage.source_files import read_bytes
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError

TITLE = "_Name"
"""The column of the records' titles, under RDKit's name."""

_END = re.compile(r"^\$\$\$\$.*\n?", re.MULTILINE)
_PROPERTY = re.compile(r"^>[^<\n]*<([^>\n]+)>.*\n((?:.*\S.*\n?)*+)", re.MULTILINE)

_log = logging.getLogger(__name__)


def read_sdf(path: Path) -> tuple[list[str], Columns]:
    """The text of every record, and a text column for every property."""
    records = _END.split(_decoded(path, read_bytes(path)).replace("\r\n", "\n"))
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


def _decoded(path: Path, content: bytes) -> str:
    """Decode UTF-8, or Latin-1, which older programs write, with a warning."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        text = content.decode("latin-1")
        record = len(_END.findall(text[: error.start].replace("\r\n", "\n"))) + 1
        _log.warning(
            "%s: record %d has the byte 0x%02x, which is not UTF-8; the file is read as Latin-1",
            path,
            record,
            content[error.start],
        )
        return text
