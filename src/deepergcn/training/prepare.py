"""A run directory before training: a new one, or one that a run goes on in."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.skipped import write_skipped
from deepergcn.data.provenance import skipped_rows
from deepergcn.errors import InputError
from deepergcn.recipes.load import dump_recipe, load_recipe, read_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.dataset import load_data
from deepergcn.runs.network import count_parameters, dataset_inputs
from deepergcn.runs.run import FORMAT, Run, RunInfo
from deepergcn.training.steps import check_steps

_PACKAGES = ("deepergcn", "torch", "torch-geometric", "numba", "numpy", "rdkit", "lightning-fabric", "torchmetrics")


@dataclass(frozen=True)
class Plan:
    """What is to be trained, and where.

    Attributes:
        folder: the run directory.
        recipe: a recipe's name or file; None for that of the run that is resumed.
        changes: settings ``key=value``.
        epochs: None for those of the recipe.
        seed: None for that of the run that is resumed.
        resume: go on in the run directory.
    """

    folder: Path
    recipe: str | Path | None
    changes: tuple[str, ...]
    epochs: int | None
    seed: int | None
    resume: bool


def planned_recipe(plan: Plan, default: str) -> Recipe:
    """The recipe that will be trained: that of the run directory where a run goes on in it."""
    if plan.resume and (plan.folder / "run.json").exists():
        return _resumed_recipe(plan, Run.open(plan.folder))
    return load_recipe(plan.recipe or default, (*plan.changes, *_epochs(plan)))


def prepare(plan: Plan, default: str, processes: int = 1) -> Dataset:
    """Make the run directory ready to train in so many processes; its dataset."""
    if (plan.folder / "run.json").exists():
        if not plan.resume:
            raise InputError(f"{plan.folder}: holds a run already; go on with --resume, or name another --out")
        return _resumed(plan, processes)
    recipe = planned_recipe(plan, default)
    dataset = load_data(recipe.data)
    inputs = dataset_inputs(dataset)
    check_steps(dataset, recipe.training, processes)
    info = RunInfo(
        format=FORMAT,
        seed=plan.seed or 0,
        versions={"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        parameters=count_parameters(recipe, inputs),
        dataset=dataset.name,
        digest=dataset.digest,
        inputs=inputs,
        label_names=dataset.label_names,
        provenance=dataset.provenance,
    )
    if skipped := skipped_rows(dataset.provenance):
        write_skipped(skipped, plan.folder / "skipped.csv")
    Run.create(plan.folder, recipe, info)
    return dataset


def _resumed(plan: Plan, processes: int) -> Dataset:
    run = Run.open(plan.folder)
    if plan.seed is not None and plan.seed != run.info.seed:
        raise InputError(f"{plan.folder}: was started with seed {run.info.seed}; it cannot go on with {plan.seed}")
    recipe = _resumed_recipe(plan, run)
    done = len(run.metrics()) if (plan.folder / "metrics.csv").exists() else 0
    if recipe.training.epochs < done:
        raise InputError(f"{plan.folder}: has {done} epochs; expected as many or more, got {recipe.training.epochs}")
    dataset = load_data(recipe.data)
    if dataset.digest != run.info.digest:
        raise InputError(f"{plan.folder}: the data in {recipe.data.source} has changed since the run was started")
    check_steps(dataset, recipe.training, processes)
    if recipe != run.recipe:
        Run.create(plan.folder, recipe, run.info)
    return dataset


def _resumed_recipe(plan: Plan, run: Run) -> Recipe:
    """The recipe of the run, with other epochs where they are given; no other key may differ."""
    asked = load_recipe(plan.recipe or run.path / "recipe.yaml", plan.changes)
    old, new = (_flat(recipe.model_dump(mode="json")) for recipe in (run.recipe, asked))
    for key in [*old, *new]:
        if old.get(key) != new.get(key) and key != "training.epochs":
            raise InputError(
                f"{run.path}: was started with {key} {old.get(key)} and cannot go on with {new.get(key)}; "
                "leave the recipe and --set out to go on with those of the run"
            )
    origin = str(run.path / "recipe.yaml")
    return read_recipe(dump_recipe(run.recipe), origin, _epochs(plan))


def _epochs(plan: Plan) -> tuple[str, ...]:
    return () if plan.epochs is None else (f"training.epochs={plan.epochs}",)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
