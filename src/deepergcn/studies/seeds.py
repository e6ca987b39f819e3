"""Several runs of one recipe that differ in their seed alone, and the mean of their scores."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

from pydantic import BaseModel, ConfigDict

from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.folders import newest_folder, next_folder
from deepergcn.runs.run import Run
from deepergcn.training.distributed import is_first_process
from deepergcn.training.train import DEFAULT, train


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
    runs: int,
    recipe: str | Path | None = None,
    *,
    data: str | Path | None = None,
    settings: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    devices: int = 1,
    machines: int = 1,
    resume: bool = False,
    epochs: int | None = None,
    precision: str | None = None,
    tensorboard: bool = False,
    callbacks: Sequence[Callback] = (),
) -> tuple[Path, RunsSummary]:
    """Train so many runs, with the seeds from ``seed`` or 0 on; their folder, and ``summary.json`` in it.

    Run by run in ``seed-0``, ``seed-1``, ... of the folder ``out``; where it is resumed, runs that have ended stay. The
    other arguments are those of :func:`train`.
    """
    if runs < 1:
        raise InputError(f"--runs is {runs}; expected at least 1")
    name = load_recipe(recipe or DEFAULT, settings).name
    folder = Path(out) if out is not None else newest_folder(name) if resume else next_folder(name)
    seeds = range(seed or 0, (seed or 0) + runs)
    if (folder / "run.json").exists():
        raise InputError(f"{folder}: holds a single run; expected another --out for --runs {runs}")
    done = []
    for number in seeds:
        inner = folder / f"seed-{number}"
        there = (inner / "run.json").exists()
        if there and not resume:
            raise InputError(f"{inner}: holds a run already; go on with --resume, or name another --out")
        done.append(
            train(
                recipe,
                data=data,
                settings=settings,
                seed=number,
                out=inner,
                devices=devices,
                machines=machines,
                resume=there,
                epochs=epochs,
                precision=precision,
                tensorboard=tensorboard,
                callbacks=callbacks,
            )
        )
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


def _mean(scores: Sequence[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return mean(known) if known else None


def _deviation(scores: Sequence[float | None]) -> float | None:
    """The standard deviation of the sample, as the paper's tables have it."""
    known = [score for score in scores if score is not None]
    return stdev(known) if len(known) > 1 else None
