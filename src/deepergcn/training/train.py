"""``train``: from a recipe to a run directory."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import torch
from lightning_fabric import Fabric

from deepergcn.data.dataset import Dataset
from deepergcn.data.registry import SOURCES
from deepergcn.data.seeds import check_seed, seed_torch
from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.nn.networks.graph_network import GraphNetwork
from deepergcn.ops.kernels.recycled import release
from deepergcn.recipes.load import load_recipe
from deepergcn.report.plots import write_plots
from deepergcn.report.tensorboard import TensorBoard
from deepergcn.runs.callbacks import Callback, Callbacks
from deepergcn.runs.dataset import LoadedData, load_data
from deepergcn.runs.folders import DEFAULT, member_folders, named_folder, next_folder, resumed_folder
from deepergcn.runs.lock import locked
from deepergcn.runs.model.network import build_model
from deepergcn.runs.run import Run, Summary
from deepergcn.runs.sample import write_sample
from deepergcn.training.cost.estimate import CAREFUL, Cost, estimate
from deepergcn.training.cost.threads import choose_threads
from deepergcn.training.forests.blend import fit_blend
from deepergcn.training.forests.taught import read_taught
from deepergcn.training.loop import Loop
from deepergcn.training.prepare import Plan, plan_resume, plan_run, prepare
from deepergcn.training.processes.batch_norm import synchronize
from deepergcn.training.processes.distributed import (
    from_first,
    launch,
    make_fabric,
    threads_of_each,
    under_torchrun,
    with_threads,
)
from deepergcn.training.processes.exchange import exchange
from deepergcn.training.scoring.outcome import write_outcome
from deepergcn.training.signals import Interrupted, Signals
from deepergcn.training.steps import check_steps
from deepergcn.user_cache import real_path


def train(
    recipe: str | Path | None = None,
    *,
    data: str | Path | None = None,
    settings: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    devices: int = 1,
    resume: bool = False,
    epochs: int | None = None,
    precision: str | None = None,
    tensorboard: bool = False,
    callbacks: Sequence[Callback] = (),
    loaded: LoadedData | None = None,
    threads: int | None = None,
) -> Run:
    """Train a recipe and return its run directory.

    Args:
        recipe: a name that ``deepergcn recipes`` lists, or a YAML file; the default recipe where none is given, and
            that of the run where one is resumed.
        data: the dataset instead of the recipe's, by name or path.
        settings: changes to the recipe, each as ``key=value``, such as ``model.num_layers=14``.
        seed: of weights, shuffling, dropout and partitions; 0 where none is given.
        out: the run directory; ``runs/`` and the recipe's name where none is given, with a number if that is taken.
        devices: the number of GPUs, or of processes on a machine without; each takes its share of every batch. Under
            torchrun, which starts the processes on one or more machines, it says how many there are.
        resume: resume the run in ``out``, or the newest one of this recipe.
        epochs: the number of epochs instead of the recipe's; a resumed run may have more than before.
        precision: ``"32"`` or ``"bf16"``, instead of the recipe's.
        tensorboard: write TensorBoard events into the run directory too.
        callbacks: called as the run proceeds, see :class:`Callback`.
        loaded: the dataset, where it has been read already, as :mod:`deepergcn.training.own_data` does.
        threads: the number of threads of each process. Where none is given, ``OMP_NUM_THREADS`` decides; else a resumed
            run keeps its number, and a new one takes as many of torch's threads as its batches have work for. Torch has
            its own number again when the run has ended.

    A run that is stopped by SIGTERM, SIGINT or SIGHUP saves its state and raises :class:`Interrupted`.
    """
    callback = Callbacks((*callbacks, TensorBoard()) if tensorboard else callbacks)
    seed = None if seed is None else check_seed(seed)
    changes = (*source_setting(data), *settings, *(() if precision is None else (f"training.precision={precision}",)))
    if out is None and under_torchrun():
        raise InputError("--out: expected a run directory, since several processes share it under torchrun")
    if resume:
        folder = resumed_folder(recipe, out)
        _refuse_several_seeds(folder)
        asked = load_recipe(recipe or folder / "recipe.yaml", changes) if recipe is not None or changes else None
        plan = plan_resume(folder, asked, epochs, seed, loaded)
    else:
        more = () if epochs is None else (f"training.epochs={epochs}",)
        resolved = load_recipe(recipe or DEFAULT, (*changes, *more))
        folder = next_folder(resolved.name) if out is None else named_folder(out)
        _refuse_several_seeds(folder)
        plan = plan_run(folder, resolved, seed, loaded)
    fabric = make_fabric(devices, plan.recipe.training.precision)
    with ExitStack() as held:
        if under_torchrun():
            result = launch(fabric, _work_of_torchrun, plan, callback)
        else:
            held.enter_context(locked(folder))
            available = threads_of_each(devices) if threads is None else threads
            held.enter_context(with_threads(available))
            if devices > 1:
                callback.on_plan(
                    f"{devices} processes, each with {available} of the threads (OMP_NUM_THREADS changes it)"
                )
            ready = prepare(plan, devices, callback, threads)
            if devices > 1:
                held.enter_context(Signals().watched())
            dataset = ready.dataset if devices == 1 else None
            result = launch(fabric, _work, folder, dataset, callback, ready.segments, ready.threads, available)
    if isinstance(result, Interrupted):
        raise result
    return Run.open(folder)


def plan_cost(
    recipe: str | Path | None = None,
    *,
    data: str | Path | None = None,
    settings: Sequence[str] = (),
    devices: int = 1,
) -> Cost:
    """Estimate the cost of :func:`train` with the same arguments by a probe of a few seconds; nothing is written."""
    resolved = load_recipe(recipe or DEFAULT, (*source_setting(data), *settings))
    dataset = load_data(resolved)
    check_steps(dataset, resolved.training, devices)
    threads = choose_threads(resolved, dataset, threads_of_each(devices), devices)
    with with_threads(threads):
        return estimate(resolved, dataset, devices, CAREFUL)


def _work_of_torchrun(fabric: Fabric, plan: Plan, callback: Callback) -> Summary | Interrupted:
    """The work of one process that torchrun has started; the first prepares the run directory for all."""
    if not fabric.is_global_zero:
        return _work(fabric, plan.folder, None, callback, from_first(()))
    with locked(plan.folder):
        # torchrun has set OMP_NUM_THREADS, or the user has.
        ready = prepare(plan, fabric.world_size, callback, torch.get_num_threads())
        return _work(fabric, plan.folder, ready.dataset, callback, from_first(ready.segments))


def _work(
    fabric: Fabric,
    folder: Path,
    dataset: Dataset | None,
    callback: Callback,
    segments: tuple[int, ...],
    threads: int | None = None,
    available: int | None = None,
) -> Summary | Interrupted:
    """The work of one process: train, and in the first write down how the run ended.

    Training and evaluation take ``threads``; a forest is grown on all that are ``available``.
    """
    callback = callback if fabric.is_global_zero else Callback()
    with Signals().watched() as signals, with_threads(threads), exchange(fabric):
        try:
            run = Run.open(folder)
            dataset = load_data(run.recipe) if dataset is None else dataset
            seed_torch(run.info.seed, "weights")
            model = build_model(run.recipe, run.info.inputs)
            if segments and isinstance(model, GraphNetwork):
                model.recompute_segments(segments)
            if fabric.world_size > 1:
                synchronize(model)
            taught = None if run.recipe.teacher is None else read_taught(run.path, run.recipe, dataset)
            summary = Loop(fabric, run, dataset, model, callback, signals, taught).fit()
        except Interrupted as interrupted:
            return interrupted
        finally:
            callback.on_train_end()
            release()
        ended: Summary | Interrupted = summary
        if fabric.is_global_zero:
            ended = _complete(run, dataset, summary, signals, available)
        fabric.barrier()  # so that every process finds the run complete
    return ended


def _complete(
    run: Run, dataset: Dataset, summary: Summary, signals: Signals, available: int | None
) -> Summary | Interrupted:
    """Fit what is blended with the network, and write down how the run ended."""

    def check() -> None:
        if signals.received:
            raise Interrupted(signals.received, run.path, "while its forest was fitted")

    try:
        summary = fit_blend(run, dataset, summary, check, available)
    except Interrupted as interrupted:
        return interrupted
    write_outcome(run, dataset)
    write_text(run.path / "summary.json", summary.model_dump_json(indent=1) + "\n")
    write_plots(run)
    write_sample(run)
    return summary


def _refuse_several_seeds(folder: Path) -> None:
    if member_folders(folder):
        raise InputError(f"{folder}: has the runs of several seeds or folds; expected one of them, or another --out")


def source_setting(data: str | Path | None) -> tuple[str, ...]:
    """The setting of a recipe by which ``--data`` replaces its dataset; none without it."""
    if data is None:
        return ()
    source = str(data) if str(data) in SOURCES else str(real_path(data))
    return (f"data.source={json.dumps(source)}",)
