"""Cross-validation: one run for every fold, the mean of their scores, and the predictions of all items."""

import io
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from pydantic import BaseModel, ConfigDict

from deepergcn.data.folds import MOST_FOLDS
from deepergcn.data.storage.files import write_bytes, write_text
from deepergcn.errors import InputError
from deepergcn.runs.folders import fold_folder, fold_folders, resumed_folder, run_folder
from deepergcn.runs.run import Run, read_json
from deepergcn.studies.seeds import mean_score, score_deviation
from deepergcn.training.distributed import is_first_process
from deepergcn.training.signals import Interrupted
from deepergcn.training.train import train

FOLDS = "folds.json"
OUT_OF_FOLD = "out_of_fold.parquet"
"""The predictions of every item by the network that has not seen it: row, fold, id, labels and predictions."""


class Folds(BaseModel):
    """``folds.json``: the number of folds of a folder of runs, of which some may not have begun."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folds: int


class FoldsSummary(BaseModel):
    """Mean and standard deviation of the scores of all folds, each at its best epoch by validation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    metric: str
    folds: int
    valid_scores: tuple[float | None, ...]
    test_scores: tuple[float | None, ...]
    valid_mean: float | None
    valid_deviation: float | None
    test_mean: float | None
    test_deviation: float | None


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
    """Train a network for every fold, each with the settings of the first; the folder of the runs, and their scores.

    Args:
        folds: The number of folds; None for that of the folder that is resumed.
        recipe, settings, options: As in :func:`deepergcn.train`; the data is a user's own.
        out: The folder of the runs, which are called ``fold-0``, ``fold-1``, ...
        resume: Go on with the folds that have not ended; those that have ended stay as they are.
        loaded: The dataset of the first fold, where it has been read already.
    """
    folder = resumed_folder(recipe, out) if resume else run_folder(recipe, settings, out)
    there = fold_folders(folder)
    if (folder / "run.json").exists():
        raise InputError(f"{folder}: holds a single run; expected another --out for several folds")
    if there and not resume:
        raise InputError(f"{folder}: holds the runs of several folds; go on with --resume, or name another --out")
    recorded = read_json(folder / FOLDS, Folds).folds if (folder / FOLDS).exists() else None
    count = folds or recorded
    if count is None or not 2 <= count <= MOST_FOLDS:
        raise InputError(f"--folds is {count}; expected from 2 to {MOST_FOLDS}")
    if recorded not in (None, count):
        raise InputError(f"{folder}: has {recorded} folds; it cannot be resumed with --folds {count}")
    if is_first_process():
        write_text(folder / FOLDS, Folds(folds=count).model_dump_json() + "\n")
    first = next(iter(there.values()), None)
    done = []
    try:
        for number in range(count):
            work: dict[str, Any] = {"recipe": recipe, "settings": settings}
            if first is not None and number not in there:  # by the recipe of those that have begun
                work = {"recipe": first.resolve() / "recipe.yaml", "settings": ()}
            chosen = (
                ()
                if number in there and recipe is None and not settings
                else (f"data.options.fold=[{number}, {count}]",)
            )
            work["settings"] = (*work["settings"], *chosen)
            own: dict[str, Any] = {"loaded": loaded if number == 0 else None, "resume": number in there}
            done.append(train(**work, **options, **own, out=fold_folder(folder, number)))
    except Interrupted as stopped:
        raise Interrupted(stopped.number, folder, stopped.epoch, stopped.step) from None
    finally:
        if is_first_process() and not fold_folders(folder):  # nothing came of it
            (folder / FOLDS).unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()
    summary = _summarize(done)
    if is_first_process():
        _write_out_of_fold(folder, done)
        write_text(folder / "summary.json", summary.model_dump_json(indent=1) + "\n")
    return folder, summary


def _summarize(runs: Sequence[Run]) -> FoldsSummary:
    ended = [summary for summary in (run.summary() for run in runs) if summary is not None]
    valid = tuple(summary.valid_score for summary in ended)
    test = tuple(summary.test_score for summary in ended)
    return FoldsSummary(
        recipe=runs[0].recipe.name,
        metric=runs[0].info.inputs.task.metric,
        folds=len(ended),
        valid_scores=valid,
        test_scores=test,
        valid_mean=mean_score(valid),
        valid_deviation=score_deviation(valid),
        test_mean=mean_score(test),
        test_deviation=score_deviation(test),
    )


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
