"""Cross-validation: one run for every fold, the mean of their scores, and the predictions of all items."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from pydantic import BaseModel, ConfigDict

from deepergcn.data.folds import check_folds
from deepergcn.data.storage.files import write_bytes
from deepergcn.errors import InputError
from deepergcn.runs.folders import FOLDS, fold_folder, fold_folders, resumed_folder, run_folder
from deepergcn.runs.run import Run, read_json
from deepergcn.studies.members import MembersSummary, check_folder, recorded, scores_of, write_summary
from deepergcn.training.processes.distributed import is_first_process
from deepergcn.training.train import train

OUT_OF_FOLD = "out_of_fold.parquet"
"""The predictions of every item by the network that has not seen it: row, fold, id, labels and predictions."""


class Folds(BaseModel):
    """``folds.json``: the number of folds of a folder of runs, of which some may not have begun."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folds: int


class FoldsSummary(MembersSummary):
    """The scores of all folds."""

    folds: int


def train_folds(
    folds: int | None,
    recipe: str | Path | None = None,
    *,
    settings: Sequence[str] = (),
    out: str | Path | None = None,
    resume: bool = False,
    loaded: Any = None,
    **options: Any,
) -> tuple[Path, FoldsSummary]:
    """Train a network for every fold, each with the settings of the first.

    Returns the folder of the runs and what its ``summary.json`` says.

    Args:
        folds: The number of folds; None for that of the folder that is resumed.
        recipe, settings, options: As in :func:`deepergcn.train`; the data is a user's own.
        out: The folder of the runs, which are called ``fold-0``, ``fold-1``, ...
        resume: Continue the folds that have not ended; those that have ended are kept.
        loaded: The dataset of the first fold, where it has been read already.
    """
    folder = resumed_folder(recipe, out) if resume else run_folder(recipe, settings, out)
    there = fold_folders(folder)
    check_folder(folder, there, resume, "folds")
    known = read_json(folder / FOLDS, Folds).folds if (folder / FOLDS).exists() else None
    count = check_folds(known if folds is None else folds)
    if known not in (None, count):
        raise InputError(f"{folder}: has {known} folds; it cannot be resumed with --folds {count}")
    first = next(iter(there.values()), None)
    done = []
    with recorded(folder / FOLDS, Folds(folds=count), fold_folders):
        for number in range(count):
            work: dict[str, Any] = {"recipe": recipe, "settings": settings}
            if first is not None and number not in there:  # by the recipe of those that have begun
                work = {"recipe": first.resolve() / "recipe.yaml", "settings": ()}
            if number not in there or recipe is not None or settings:
                work["settings"] = (*work["settings"], f"data.options.fold=[{number}, {count}]")
            own: dict[str, Any] = {"loaded": loaded if number == 0 else None, "resume": number in there}
            done.append(train(**work, **options, **own, out=fold_folder(folder, number)))
    summary = FoldsSummary(**scores_of(done), folds=sum(run.summary() is not None for run in done))
    if is_first_process():
        _write_out_of_fold(folder, done)
    write_summary(folder, summary)
    return folder, summary


def _write_out_of_fold(folder: Path, runs: Sequence[Run]) -> None:
    """Write the test predictions of all folds as one table, in the order of the rows of the file."""
    tables = []
    for number, run in enumerate(runs):
        parts = pyarrow.csv.read_csv(run.path / "split.csv")
        rows = parts.filter(pa.compute.equal(parts["part"], "test"))["row"]
        predicted = pyarrow.parquet.read_table(run.path / "predictions.parquet")
        predicted = predicted.filter(pa.compute.equal(predicted["part"], "test")).drop_columns("part")
        fold = pa.array([number] * len(predicted))
        tables.append(predicted.add_column(0, "fold", fold).add_column(0, "row", rows))
    content = io.BytesIO()
    together = pa.concat_tables(tables, promote_options="permissive").sort_by("row")
    pyarrow.parquet.write_table(together, content)
    write_bytes(folder / OUT_OF_FOLD, content.getvalue())
