"""Several runs of one recipe that differ in their seed alone, and the mean of their scores."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from deepergcn.data.seeds import check_seed, check_seeds
from deepergcn.errors import InputError
from deepergcn.runs.folders import SEEDS, resumed_folder, run_folder, seed_folder, seed_folders
from deepergcn.runs.run import Run, read_json
from deepergcn.studies.members import MembersSummary, check_folder, recorded, scores_of, write_summary
from deepergcn.studies.ray_pool import RayTask, run_on_ray
from deepergcn.training.train import train


class Seeds(BaseModel):
    """``seeds.json``: the seeds of a folder of runs, of which some may not have begun."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seeds: tuple[int, ...]


class RunsSummary(MembersSummary):
    """The scores of several seeds."""

    seeds: tuple[int, ...]


def train_runs(
    runs: int | None,
    recipe: str | Path | None = None,
    *,
    data: str | Path | None = None,
    settings: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    ray: str | None = None,
    threads: int = 1,
    watcher: Callable[[str, str], None] = lambda name, state: None,
    **options: Any,
) -> tuple[Path, RunsSummary]:
    """Train a recipe with several seeds, one after the other, or on a Ray cluster.

    Returns the folder of the runs and what its ``summary.json`` says.

    Args:
        runs: The number of seeds, from ``seed`` or 0 on; None for those of the folder that is resumed.
        recipe, data, settings, options: As in :func:`deepergcn.train`.
        seed: The first seed.
        out: The folder of the runs, which are called ``seed-0``, ``seed-1``, ...
        resume: Continue the seeds that have not ended; those that have ended are kept.
        ray: The address of a Ray cluster, or ``auto``, which trains several seeds at a time.
        threads: The number of threads of each run there.
        watcher: Called with the name of a run there and its new state.
    """
    if runs is not None:
        check_seeds(runs, "--runs")
    if seed is not None:
        check_seed(seed, "--seed")
    if runs is None and not resume:
        raise InputError("--runs: expected the number of seeds to train")
    folder = resumed_folder(recipe, out) if resume else run_folder(recipe, settings, out)
    there = seed_folders(folder)
    check_folder(folder, there, resume, "seeds")
    seeds = tuple(range(seed or 0, (seed or 0) + runs)) if runs is not None else _recorded(folder, there)
    first = next(iter(there.values()), None)
    asked: dict[str, Any] = {"recipe": recipe, "data": data, "settings": settings}
    # A seed that has not begun is trained by the recipe of the others.
    others = asked if first is None else {"recipe": first.resolve() / "recipe.yaml"}
    work = {number: {**(asked if number in there else others), **options, "seed": number} for number in seeds}
    with recorded(folder / SEEDS, Seeds(seeds=seeds), seed_folders):
        if ray is not None:
            done = _train_on_ray(folder, work, ray, threads, watcher)
        else:
            done = [train(**work[number], out=seed_folder(folder, number), resume=number in there) for number in seeds]
    ended = tuple(run.info.seed for run in done if run.summary() is not None)
    summary = RunsSummary(**scores_of(done), seeds=ended)
    write_summary(folder, summary)
    return folder, summary


def _train_on_ray(
    folder: Path, work: dict[int, dict[str, Any]], ray: str, threads: int, watcher: Callable[[str, str], None]
) -> list[Run]:
    failures: dict[str, str] = {}

    def changed(task: RayTask, state: str, reason: str) -> None:
        if state == "failed":
            failures[task.name] = reason
        watcher(task.name, state)

    # What is read here and shown here stays here; every run reads the files for itself.
    tasks = [
        RayTask(
            f"seed-{number}",
            seed_folder(folder, number).resolve(),
            partial(_train_seed, _without_local(options) | {"threads": threads}),
        )
        for number, options in work.items()
    ]
    run_on_ray(tasks, ray, folder, threads, changed)
    if failures:
        name, reason = next(iter(failures.items()))
        raise InputError(f"{len(failures)} of {len(tasks)} seeds failed; {name}: {reason}")
    return [Run.open(task.folder) for task in tasks]


def _without_local(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in ("callbacks", "loaded")}


def _train_seed(options: dict[str, Any], folder: Path) -> None:
    train(**options, out=folder, resume=(folder / "run.json").exists())


def _recorded(folder: Path, there: dict[int, Path]) -> tuple[int, ...]:
    """The seeds that the folder was started with; those that have begun where there is no record of it."""
    file = folder / SEEDS
    return read_json(file, Seeds).seeds if file.exists() else tuple(there)
