"""The run directory before training: a new one, or one that is resumed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.skipped import skipped_text
from deepergcn.data.provenance import skipped_rows
from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.recipes.differences import differences
from deepergcn.recipes.load import validate
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.dataset import LoadedData, absolute, check_found, load_data, named_files
from deepergcn.runs.environment import environment, versions, warn_of_changes
from deepergcn.runs.log import RunLog
from deepergcn.runs.model.network import build_model, count_parameters, dataset_inputs
from deepergcn.runs.older import as_read
from deepergcn.runs.run import FILES, FOLDERS, FORMAT, Run, RunInfo, recipe_text
from deepergcn.runs.state import resume_state
from deepergcn.training.average import WeightAverage
from deepergcn.training.cost.refuse import foresee
from deepergcn.training.cost.threads import choose_threads
from deepergcn.training.forests.fit import check_forest
from deepergcn.training.forests.taught import FILE, ask_teacher, write_taught
from deepergcn.training.optimizer import make_optimizer
from deepergcn.training.processes.distributed import with_threads
from deepergcn.training.steps import check_steps


@dataclass(frozen=True)
class Plan:
    """What is to be trained, and where.

    Attributes:
        folder: the run directory.
        recipe: the resolved recipe.
        seed: the seed of the run.
        resumed: the run that is resumed; None for a new one.
        loaded: the dataset, where it has been read already.
    """

    folder: Path
    recipe: Recipe
    seed: int
    resumed: Run | None = None
    loaded: LoadedData | None = None


def plan_run(folder: Path, recipe: Recipe, seed: int | None = None, loaded: LoadedData | None = None) -> Plan:
    """The plan of a new run."""
    return Plan(folder, _with_absolute_paths(recipe), seed or 0, None, loaded)


def plan_resume(
    folder: Path, asked: Recipe | None, epochs: int | None, seed: int | None, loaded: LoadedData | None = None
) -> Plan:
    """The plan that resumes the run in ``folder``.

    Args:
        folder: the run directory.
        asked: the recipe to resume with, where one is given; it may differ from the run's in its epochs, in the
            memory that it may take, and in where its data lies alone.
        epochs: the number of epochs; those of the run if None.
        seed: the seed, where one is given; it must be that of the run.
        loaded: the dataset, where it has been read already.
    """
    run = Run.open(folder)
    if seed is not None and seed != run.info.seed:
        raise InputError(f"{folder}: was started with seed {run.info.seed}; it cannot be resumed with seed {seed}")
    values = run.recipe.model_dump(mode="json")
    if asked is not None:
        asked = _with_absolute_paths(as_read(asked, run.info.format, run.info.provenance))
        for key, old, new in differences(run.recipe, asked):
            if key not in ("training.epochs", "training.memory"):
                raise InputError(
                    f"{folder}: was started with {key} {old} and cannot be resumed with {new}; "
                    "leave out the recipe and --set to resume with the settings of the run"
                )
        values["training"]["memory"] = asked.training.memory
        values["data"] = asked.data.model_dump(mode="json")
    if epochs is not None:
        values["training"]["epochs"] = epochs
    return Plan(folder, validate(values, str(folder / "recipe.yaml")), run.info.seed, run, loaded)


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to train.

    Attributes:
        dataset: its dataset.
        segments: the segments of layers that it recomputes in backward.
        threads: the number of threads of each process.
    """

    dataset: Dataset
    segments: tuple[int, ...]
    threads: int


def prepare(plan: Plan, processes: int = 1, callback: Callback | None = None, threads: int | None = None) -> Prepared:
    """Make the run directory ready to train in this number of processes.

    Args:
        plan: what to train.
        processes: the number of processes that share each batch.
        callback: is told what the run takes.
        threads: the number of threads of each process; of those that torch has now, as many as the batches have work
            for if None.
    """
    callback = callback or Callback()
    if plan.resumed is not None:
        return _resume(plan, plan.resumed, processes, callback, threads)
    if (plan.folder / "run.json").exists():
        raise InputError(f"{plan.folder}: already has a run; resume it with --resume, or choose another --out")
    recipe = plan.recipe
    dataset = load_data(recipe, plan.loaded)
    files: dict[str, str] = {}
    if skipped := skipped_rows(dataset.provenance):
        files["skipped.csv"] = skipped_text(skipped)
    if plan.loaded is not None and plan.loaded.report is not None:
        files["data.json"] = plan.loaded.report.model_dump_json(indent=1) + "\n"
    _check_unused(plan.folder, {**files, "recipe.yaml": recipe_text(recipe, plan.folder)})
    for metric in recipe.evaluation.metrics:
        dataset.task.with_metric(metric)  # an error if the task has no such metric
    for section in (recipe.teacher, recipe.blend):
        if section is not None:
            check_forest(section, dataset, recipe.data.descriptors)
    if recipe.recombined:
        from deepergcn.training.forests.recombined import check_recombined  # here: few recipes need RDKit to train

        check_recombined(dataset, recipe)
    inputs = dataset_inputs(dataset)
    check_steps(dataset, recipe.training, processes)
    taught = ask_teacher(recipe, dataset, plan.seed, callback.on_plan)
    threads = _threads(plan, dataset, processes, callback) if threads is None else threads
    with with_threads(threads):
        segments = foresee(recipe, dataset, processes, callback)
        present = environment(processes)
    info = RunInfo(
        format=FORMAT,
        seed=plan.seed,
        versions=versions(),
        environment=present,
        parameters=count_parameters(recipe, inputs),
        dataset=dataset.name,
        digest=dataset.digest,
        inputs=inputs,
        label_names=dataset.label_names,
        provenance=dataset.provenance,
    )
    for name, text in files.items():
        write_text(plan.folder / name, text)
    Run.create(plan.folder, recipe, info)
    if taught is not None:
        write_taught(plan.folder, taught)
    return Prepared(dataset, segments, threads)


def _check_unused(folder: Path, files: Mapping[str, str]) -> None:
    """Check that a folder holds nothing that the run would overwrite, apart from what it began to write itself.

    Args:
        folder: The run directory, which holds no run.
        files: What is written before the record that makes it one.
    """
    for name in (*FILES, *FOLDERS):
        file = folder / name
        begun = name in files and file.is_file() and file.read_bytes() == files[name].encode()
        if os.path.lexists(file) and not begun:
            raise InputError(f"{file}: exists already and belongs to no run; expected a new folder for --out")


def _resume(plan: Plan, run: Run, processes: int, callback: Callback, threads: int | None) -> Prepared:
    recipe = plan.recipe
    done = len(run.metrics()) if (plan.folder / "metrics.csv").exists() else 0
    if recipe.training.epochs < done:
        raise InputError(
            f"training.epochs is {recipe.training.epochs}; expected at least {done}, since {plan.folder} has finished "
            f"{done}"
        )
    check_found(recipe.data, plan.folder)
    dataset = load_data(recipe, plan.loaded)
    if dataset.digest != run.info.digest:
        raise InputError(
            f"{plan.folder}: the data in {named_files(recipe.data)} has changed since the run was started; expected it "
            "as it was, or another --out for a new run"
        )
    check_steps(dataset, recipe.training, processes)
    threads = _threads(plan, dataset, processes, callback) if threads is None else threads
    with with_threads(threads):
        warn_of_changes(
            str(plan.folder), run.info.environment, run.info.versions, environment(processes), training=True
        )
        segments = foresee(recipe, dataset, processes, callback)
    if recipe != run.recipe:
        _check_state(plan.folder, recipe, run.info)
        Run.create(plan.folder, recipe, run.info)
    if recipe.teacher is not None and not (plan.folder / FILE).exists():  # the run was killed before it was written
        taught = ask_teacher(recipe, dataset, plan.seed, callback.on_plan)
        assert taught is not None
        write_taught(plan.folder, taught)
    return Prepared(dataset, segments, threads)


def _threads(plan: Plan, dataset: Dataset, processes: int, callback: Callback) -> int:
    """The number of threads that the run takes; the callback is told if others stay unused."""
    available = torch.get_num_threads()
    started = None if plan.resumed is None else plan.resumed.info.environment
    before = None if started is None else started.threads
    threads = choose_threads(plan.recipe, dataset, available, processes, before)
    if threads < available:
        why = "the batches are too small for more" if before is None else "as the run was started with"
        callback.on_plan(f"threads   {threads} of {available}, {why}; OMP_NUM_THREADS={available} uses all")
    return threads


def _check_state(folder: Path, recipe: Recipe, info: RunInfo) -> None:
    """Check that the run can be resumed, before its recipe is changed."""
    model = build_model(recipe, info.inputs)
    decay = recipe.training.average
    average = None if decay is None else WeightAverage(model, decay)
    progress = resume_state(folder, model, make_optimizer(model, recipe.optimizer), average)
    RunLog(folder, progress.epoch)


def _with_absolute_paths(recipe: Recipe) -> Recipe:
    return recipe.model_copy(update={"data": absolute(recipe.data)})
