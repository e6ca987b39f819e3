"""The file ``study.json``: the table that the run directories of a study fill, and its charts."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.runs.run import parse_json

FORMAT = 1
"""The format version of ``study.json``."""

FILE = "study.json"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
"""A name that files and folders are named after."""


class Part(BaseModel):
    """A part of a study: immutable, and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Row(Part):
    """A row of the table: a depth, or a task.

    Attributes:
        name: its name in run directories.
        label: its label in tables.
        layers: the number of layers, if rows are depths.
    """

    name: str
    label: str
    layers: int | None = None


class Column(Part):
    """A column of the table.

    Attributes:
        name: its name in run directories.
        label: its label in tables.
        group: a heading shared by adjacent columns.
    """

    name: str
    label: str
    group: str = ""

    @property
    def title(self) -> str:
        """Group and label."""
        return f"{self.group} {self.label}".strip()


class Chart(Part):
    """A chart of the study's scores.

    Attributes:
        kind: ``depth`` is the score over the rows, one line per column; ``sweep`` the score over the columns, one
            line per row; ``compare`` the score of every column in each row; ``dynamics`` the learned parameters of
            every layer over the epochs.
        title: the heading.
        x_label: the label of the horizontal axis.
        columns: the columns to draw; all if empty.
    """

    kind: Literal["depth", "sweep", "compare", "dynamics"]
    title: str
    x_label: str = "layers"
    columns: tuple[str, ...] = ()


class CellRun(Part):
    """One run of a cell: its folder and state.

    Attributes:
        row, column, seed: the cell and the seed.
        folder: the run directory, relative to the study's.
        command: the command that trains it.
        settings: changes to the recipe that were asked for in every cell, as ``key=value``.
        state: its state; ``failed`` comes with a ``reason``.
        commit: the commit of the code that trains it, if known.
    """

    row: str
    column: str
    seed: int
    folder: str
    command: str
    settings: tuple[str, ...] = ()
    state: Literal["waiting", "running", "finished", "failed"] = "waiting"
    reason: str = ""
    commit: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """Row, column and seed."""
        return self.row, self.column, self.seed


class StudyTable(Part):
    """A study: rows, columns, the published value of every cell, and the requested runs."""

    format: int = FORMAT
    name: Name
    title: str
    claim: str
    dataset: str
    recipe: str
    fitted: tuple[str, ...] = ()
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    published: dict[str, dict[str, float | None]]
    deviations: dict[str, dict[str, float]] = {}
    charts: tuple[Chart, ...] = ()
    runs: tuple[CellRun, ...] = ()

    def value(self, row: str, column: str) -> float | None:
        """The published value of a cell."""
        return self.published.get(column, {}).get(row)


def is_study(folder: Path) -> bool:
    """Whether the folder holds a study."""
    return (folder / FILE).is_file()


def read_study(folder: Path) -> StudyTable:
    """Read ``study.json`` of a folder."""
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read; expected a folder written by deepergcn reproduce") from error
    study = parse_json(text, StudyTable, str(file))
    if study.format != FORMAT:
        raise InputError(f"{file}: has format {study.format}; this version reads format {FORMAT}")
    return study


def write_study(folder: Path, study: StudyTable) -> None:
    """Write ``study.json``."""
    write_text(folder / FILE, study.model_dump_json(indent=1) + "\n")
