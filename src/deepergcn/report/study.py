"""A study on disk: ``study.json`` says which table its run directories fill, and how to draw it."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.runs.run import parse_json

FORMAT = 1
"""The version of ``study.json``."""

FILE = "study.json"


class Part(BaseModel):
    """A part of a study: unknown keys are errors, and nothing changes after it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Row(Part):
    """A row of the table: a depth, or a task.

    Attributes:
        name: part of the run directories' names.
        label: how the table prints it.
        layers: the number of layers, where that is what the rows differ in.
    """

    name: str
    label: str
    layers: int | None = None


class Column(Part):
    """A column of the table.

    Attributes:
        name: part of the run directories' names.
        label: how the table prints it.
        group: a heading that neighbouring columns share.
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
        kind: ``depth`` is the score over the rows, a line for every column; ``sweep`` the score over the columns, a
            line for every row; ``compare`` the score of every column in each row; ``dynamics`` what
            every layer learns over the epochs.
        title: the heading.
        x_label: the label of the horizontal axis.
        columns: the columns that are drawn; all of them where none is named.
    """

    kind: Literal["depth", "sweep", "compare", "dynamics"]
    title: str
    x_label: str = "layers"
    columns: tuple[str, ...] = ()


class CellRun(Part):
    """One run of a cell: its place and state.

    Attributes:
        row, column, seed: which run it is.
        folder: the run directory, relative to the study's.
        command: the command that trains it.
        state: ``failed`` with a ``reason``, or how far it is.
        commit: of the code that trains it, where that is known.
    """

    row: str
    column: str
    seed: int
    folder: str
    command: str
    state: Literal["waiting", "running", "finished", "failed"] = "waiting"
    reason: str = ""
    commit: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """Row, column and seed."""
        return self.row, self.column, self.seed


class StudyTable(Part):
    """A study: rows, columns, the published value of every cell, and the runs that were asked for."""

    format: int = FORMAT
    name: str
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
    """The study in a folder."""
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read; expected a folder that deepergcn reproduce has written") from error
    study = parse_json(text, StudyTable, str(file))
    if study.format != FORMAT:
        raise InputError(f"{file}: has format {study.format}; this version reads format {FORMAT}")
    return study


def write_study(folder: Path, study: StudyTable) -> None:
    """Write ``study.json``."""
    write_text(folder / FILE, study.model_dump_json(indent=1) + "\n")
