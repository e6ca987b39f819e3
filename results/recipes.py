"""Scores of recipes over seeds or folds: a CSV file with a row a run, and the table of their means.

    python -m results.recipes RUN...

adds the runs in these folders, each a run directory or a folder of the seeds of ``--runs``, to ``recipes.csv``. A run
belongs to the recipe whose settings it has, whatever ``--set`` it was started with; one that has none's is told by the
settings of the network in which it differs from its recipe. Its row is named after its split where that is one of
several, such as ``fold-3``.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, stdev

from deepergcn.errors import InputError
from deepergcn.recipes import Recipe, load_recipe, recipe_names
from deepergcn.report.results import Result, add_results, read_results
from deepergcn.report.tables import NONE
from deepergcn.runs.folders import seed_folders
from deepergcn.runs.run import Run

FILE = Path(__file__).parent / "recipes.csv"


def main(folders: Iterable[str]) -> None:
    """Add the runs in these folders."""
    runs = [run for folder in folders for run in _runs(Path(folder))]
    add_results(FILE, [_result(run) for run in runs])


def recipe_rows() -> str:
    """The mean scores of every recipe on every dataset, as Markdown."""
    groups: dict[tuple[str, str, int | None], list[Result]] = {}
    for result in read_results(FILE):
        recipe = f"{result.recipe}, {result.settings}" if result.settings else result.recipe
        groups.setdefault((result.dataset, recipe, result.epochs), []).append(result)
    lines = ["| dataset | recipe | epochs | runs | parameters | valid | test |", "|" + "---|" * 7]
    for (dataset, recipe, epochs), results in groups.items():
        scores = [_spread([score for score in column if score is not None]) for column in _columns(results)]
        cells = (dataset, recipe, str(epochs), _counted(results), f"{results[0].parameters:,}", *scores)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _columns(results: list[Result]) -> tuple[list[float | None], list[float | None]]:
    return [result.valid for result in results], [result.test for result in results]


def _counted(results: list[Result]) -> str:
    """How many folds or seeds there are."""
    folds = {result.row for result in results if result.row}
    seeds = {result.seed for result in results}
    counted = [f"{len(folds)} fold{'s' * (len(folds) > 1)}"] if folds else []
    if len(seeds) > 1 or not folds:
        counted.append(f"{len(seeds)} seed{'s' * (len(seeds) > 1)}")
    return ", ".join(counted)


def _spread(scores: list[float]) -> str:
    if not scores:
        return NONE
    return f"{mean(scores):.3f}" + (f" ± {stdev(scores):.3f}" if len(scores) > 1 else "")


def _runs(folder: Path) -> list[Run]:
    seeds = seed_folders(folder)
    return [Run.open(path) for path in seeds.values()] if seeds else [Run.open(folder)]


def _has_settings(one: Recipe, other: Recipe) -> bool:
    """Whether two recipes train the same network in the same way, each on its own data."""
    sections = ("model", "optimizer", "loss", "links", "training", "evaluation", "teacher", "blend")
    same = all(getattr(one, section) == getattr(other, section) for section in sections)
    return same and (one.data.transforms, one.data.descriptors) == (other.data.transforms, other.data.descriptors)


def _settings(run: Recipe, named: Recipe) -> str:
    """The settings of the network in which a run differs from its recipe."""
    ours, theirs = run.model.model_dump(), named.model.model_dump()
    return " ".join(f"model.{key}={ours[key]}" for key in sorted(ours) if ours[key] != theirs.get(key))


def _result(run: Run) -> Result:
    summary = run.summary()
    if summary is None:
        raise InputError(f"{run.path}: has not ended; expected runs with a summary.json")
    name = next((name for name in recipe_names() if _has_settings(run.recipe, load_recipe(name))), run.recipe.name)
    memory = [row["peak_memory_mb"] for row in run.metrics() if row["peak_memory_mb"] is not None]
    return Result(
        study="recipes",
        dataset=run.info.dataset,
        recipe=name,
        settings=_settings(run.recipe, load_recipe(name)) if name in recipe_names() else "",
        column=name,
        row=str(run.recipe.data.options.get("split", "")),
        seed=run.info.seed,
        epochs=run.recipe.training.epochs,
        best_epoch=summary.best_epoch,
        valid=summary.valid_score,
        test=summary.test_score,
        seconds=round(summary.seconds, 1),
        peak_memory_mb=max(memory, default=None),
        parameters=summary.parameters,
        version=run.info.versions.get("deepergcn", ""),
        commit=run.info.versions.get("commit", ""),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
