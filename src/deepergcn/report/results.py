"""The results of a study, one row per run: collected from run directories, written to CSV and read back."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError, field_validator

from deepergcn.data.storage.csv_text import csv_text
from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.report.study import CellRun, Part, StudyTable, read_study
from deepergcn.runs.run import Run


class Result(Part):
    """One run of a study.

    Attributes:
        study, dataset, recipe: their names.
        settings: changes to the recipe in every cell, as ``key=value`` with spaces between them.
        column, row, seed: the cell of the study and the seed.
        epochs: the number of epochs trained.
        best_epoch: the best epoch by validation score.
        valid, test: the scores of that epoch; None if there is nothing to score or the run failed.
        published: the paper's value.
        seconds: the duration of training and evaluation.
        peak_memory_mb: the peak memory of the process.
        parameters: the number of trainable parameters.
        version, commit: those of deepergcn, if known.
        failure: the reason of a failure.
    """

    study: str
    dataset: str
    recipe: str
    settings: str = ""
    column: str
    row: str
    seed: int
    epochs: int | None = None
    best_epoch: int | None = None
    valid: float | None = None
    test: float | None = None
    published: float | None = None
    seconds: float | None = None
    peak_memory_mb: float | None = None
    parameters: int | None = None
    version: str = ""
    commit: str = ""
    failure: str = ""

    @field_validator("*", mode="before")
    @classmethod
    def _empty(cls, value: object, info: object) -> object:
        name = getattr(info, "field_name", "")
        return None if value == "" and name in _NUMBERS else value

    @property
    def cell(self) -> tuple[str, str, str, str, int]:
        """The fields that say which cell was trained, and on what."""
        return self.dataset, self.settings, self.column, self.row, self.seed


_NUMBERS = {name for name, field in Result.model_fields.items() if field.annotation is not str}


def collect(folder: Path) -> list[Result]:
    """The finished and failed runs of a study."""
    study = read_study(folder)
    found = (_result(folder, study, run) for run in study.runs)
    return [result for result in found if result is not None]


def read_results(path: Path) -> list[Result]:
    """Read a file of results."""
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read; expected a CSV file written by deepergcn report") from error
    results = []
    for number, row in enumerate(rows, start=1):
        try:
            results.append(Result.model_validate(row))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise InputError(f"{path}: row {number}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    return results


def add_results(path: Path, results: Iterable[Result]) -> list[Result]:
    """Add results to a file, replacing those of the same runs and failures; returns all results in the file."""
    new = list(results)
    again = {result.cell for result in new}
    old = [] if not path.exists() else [old for old in read_results(path) if not (old.failure and old.cell in again)]
    merged = {(result.cell, result.recipe, result.epochs): result for result in (*old, *new)}
    kept = sorted(merged.values(), key=_place)
    write_text(path, results_csv(kept))
    return kept


def results_csv(results: Sequence[Result]) -> str:
    """The results as CSV text."""
    return csv_text([list(Result.model_fields), *([_cell(value) for _, value in result] for result in results)])


def _place(result: Result) -> tuple[str, str, str, int, str, int]:
    """Where a row stands in the file."""
    return result.dataset, result.settings, result.column, len(result.row), result.row, result.seed


def _result(folder: Path, study: StudyTable, entry: CellRun) -> Result | None:
    known = Result(
        study=study.name,
        dataset=study.dataset,
        recipe=study.recipe,
        settings=" ".join(entry.settings),
        column=entry.column,
        row=entry.row,
        seed=entry.seed,
        published=study.value(entry.row, entry.column),
        commit=entry.commit,
    )
    if not (folder / entry.folder / "summary.json").is_file():
        return known.model_copy(update={"failure": entry.reason}) if entry.state == "failed" else None
    run = Run.open(folder / entry.folder)
    summary = run.summary()
    assert summary is not None
    memory = [row["peak_memory_mb"] for row in run.metrics() if row["peak_memory_mb"] is not None]
    return known.model_copy(
        update={
            "dataset": run.info.dataset,
            "recipe": run.recipe.name,
            "epochs": summary.epochs,
            "best_epoch": summary.best_epoch,
            "valid": summary.valid_score,
            "test": summary.test_score,
            "seconds": round(summary.seconds, 1),
            "peak_memory_mb": max(memory, default=None),
            "parameters": summary.parameters,
            "version": run.info.versions.get("deepergcn", ""),
            "commit": run.info.versions.get("commit", entry.commit),
        }
    )


def _cell(value: object) -> object:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value
