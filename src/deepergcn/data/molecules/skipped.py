"""Rows of a file of molecules that cannot be read."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from deepergcn.data.storage.csv_text import csv_text
from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError


class Skipped(NamedTuple):
    """A row that cannot be read: its number, counted from 1 without the header, its text and the reason."""

    row: int
    molecule: str
    reason: str


def skipped_text(rows: Sequence[Skipped]) -> str:
    """Skipped rows as CSV: row number, molecule, reason."""
    return csv_text([Skipped._fields, *rows])


def write_skipped(rows: Sequence[Skipped], path: str | Path) -> None:
    """Write skipped rows as CSV."""
    if not Path(path).parent.is_dir():
        raise InputError(f"{path}: the folder for the list of skipped rows does not exist")
    write_text(Path(path), skipped_text(rows))
