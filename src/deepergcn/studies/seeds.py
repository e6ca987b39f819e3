"""Several runs of one recipe that differ in their seed alone, and the mean of their scores."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from pydantic import BaseModel, ConfigDict

from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.runs.folders import next_folder, resumed_folder, seed_folder, seed_folders
from deepergcn.runs.run import Run, read_json
from deepergcn.training.distributed import is_first_process
from deepergcn.training.signals import Interrupted
from deepergcn.training.train import DEFAULT, train

SEEDS = "seeds.json"


class Seeds(BaseModel):
    """``seeds.json``: the seeds of a folder of runs, of which some may not have begun."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seeds: tuple[int, ...]


class RunsSummary(BaseModel):
    """Mean and standard deviation of the scores of several runs, each at its best epoch by validation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    metric: str
    seeds: tuple[int, ...]
    valid_scores: tuple[float | None, ...]
    test_scores: tuple[float | None, ...]
    valid_mean: float | None
    valid_deviation: float | None
    test_mean: float | None
    test_deviation: float | None


def train_runs(
    runs: int | None,
    recipe: str | Path | None = None,
    *,
    data: str | Path | None = None,
    settings: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    **options: Any,
) -> tuple[Path, RunsSummary]:
    """Train a recipe with several seeds, one after the other; the folder of the runs, and ``summary.json`` in it.

    Args:
        runs: The number of seeds, from ``seed`` or 0 on; None for those of the folder that is resumed.
        recipe, data, settings, options: As in :func:`deepergcn.train`.
        seed: The first seed.
        out: The folder of the runs, which are called ``seed-0``, ``seed-1``, ...
        resume: Go on with the seeds that have not ended; those that have ended stay as they are.
    """
    if runs is not None and runs < 1:
        raise InputError(f"--runs is {runs}; expected at least 1")
    if runs is None and not resume:
        raise InputError("--runs: expected the number of seeds to train")
    folder = _folder(recipe, settings, out, resume)
    there = seed_folders(folder)
    if (folder / "run.json").exists():
        raise InputError(f"{folder}: holds a single run; expected another --out for several seeds")
    if there and not resume:
        raise InputError(f"{folder}: holds the runs of several seeds; go on with --resume, or name another --out")
    seeds = tuple(range(seed or 0, (seed or 0) + runs)) if runs is not None else _recorded(folder, there)
    if is_first_process():
        write_text(folder / SEEDS, Seeds(seeds=seeds).model_dump_json() + "\n")
    first = next(iter(there.values()), None)
    done = []
    try:
        for number in seeds:
            what: dict[str, Any] = {"recipe": recipe, "data": data, "settings": settings}
            if first is not None and number not in there:
                what = {"recipe": first / "recipe.yaml"}  # a seed that has not begun, by the recipe of the others
            inner = seed_folder(folder, number)
            done.append(train(**what, **options, seed=number, out=inner, resume=number in there))
    except Interrupted as stopped:
        raise Interrupted(stopped.number, folder, stopped.epoch, stopped.step) from None
    finally:
        if is_first_process() and not seed_folders(folder):  # nothing came of it
            (folder / SEEDS).unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()
    summary = summarize(done)
    if is_first_process():
        write_text(folder / "summary.json", summary.model_dump_json(indent=1) + "\n")
    return folder, summary


def summarize(runs: Sequence[Run]) -> RunsSummary:
    """The scores of runs that have ended."""
    found = [run.summary() for run in runs]
    ended = [summary for summary in found if summary is not None]
    valid = tuple(summary.valid_score for summary in ended)
    test = tuple(summary.test_score for summary in ended)
    return RunsSummary(
        recipe=runs[0].recipe.name,
        metric=runs[0].info.inputs.task.metric,
        seeds=tuple(summary.seed for summary in ended),
        valid_scores=valid,
        test_scores=test,
        valid_mean=_mean(valid),
        valid_deviation=_deviation(valid),
        test_mean=_mean(test),
        test_deviation=_deviation(test),
    )


def _folder(recipe: str | Path | None, settings: Sequence[str], out: str | Path | None, resume: bool) -> Path:
    if resume:
        return resumed_folder(recipe, out)
    return next_folder(load_recipe(recipe or DEFAULT, settings).name) if out is None else Path(out)


def _recorded(folder: Path, there: dict[int, Path]) -> tuple[int, ...]:
    """The seeds that the folder was started with; those that have begun where there is no record of it."""
    file = folder / SEEDS
    return read_json(file, Seeds).seeds if file.exists() else tuple(there)


def _mean(scores: Sequence[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return mean(known) if known else None


def _deviation(scores: Sequence[float | None]) -> float | None:
    """The standard deviation of the sample, as the paper's tables have it."""
    known = [score for score in scores if score is not None]
    return stdev(known) if len(known) > 1 else None
