"""``deepergcn train``: one command from data to a trained network."""

import shlex
import sys
from functools import partial
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepergcn.cli.commands.evaluate import score_lines
from deepergcn.cli.loading import loading, waits_asleep
from deepergcn.cli.option_group import with_options
from deepergcn.cli.options import DataOption, RecipeArgument, SettingsOption
from deepergcn.cli.own_data_options import OwnDataOptions
from deepergcn.cli.read_own_data import read_own_data
from deepergcn.cli.terminal import say
from deepergcn.errors import InputError
from deepergcn.waiting import LINE

if TYPE_CHECKING:
    from deepergcn.runs.run import Run
    from deepergcn.studies.folds import FoldsSummary
    from deepergcn.studies.seeds import RunsSummary

Text = str | None


@with_options("own", OwnDataOptions)
def train(
    recipe: RecipeArgument = None,
    data: DataOption = None,
    settings: SettingsOption = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Seed of weights, shuffling, dropout and partitions. Default: 0.", min=0),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", help="Number of seeds to train; reports mean and standard deviation.", min=1)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Run directory. Default: runs/RECIPE, numbered if it exists.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Number of epochs, instead of the recipe's.", min=1)
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume the run or seeds in --out, or the newest run of the recipe."),
    ] = False,
    precision: Annotated[Text, typer.Option("--precision", help="Precision of the computation: 32 or bf16.")] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard events too.")] = False,
    devices: Annotated[
        int, typer.Option("--devices", help="Number of GPUs, or of processes on a machine without GPUs.", min=1)
    ] = 1,
    ray: Annotated[
        Text, typer.Option("--ray", metavar="ADDRESS|auto", help="Train the seeds of --runs on this Ray cluster.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Number of threads per run with --ray. Default: 1.", min=1)
    ] = None,
    *,
    own: OwnDataOptions,
) -> None:
    """Train a deep graph network from a recipe, or on your own molecules, graphs, links, or nodes and edges."""
    read = read_own_data(own, settings or (), recipe)  # before the slow imports, since its options are checked first
    with loading():
        from deepergcn.cli.progress import run_display
        from deepergcn.runs.folders import fold_folders, resumed_folder, seed_folders
        from deepergcn.studies.folds import train_folds
        from deepergcn.studies.pool import Stopped
        from deepergcn.studies.seeds import train_runs
        from deepergcn.training.processes.distributed import is_first_process
        from deepergcn.training.signals import Interrupted
        from deepergcn.training.train import train as train_one

    _check_cluster(runs, resume, ray, threads, devices)
    if own.folds is not None and ((runs or 1) > 1 or ray is not None or data is not None):
        raise InputError("--folds: cannot be combined with --runs, --ray or --data")
    if waits_asleep() and is_first_process():
        say(LINE)
    recipe, found = (recipe, None) if read is None else (recipe or read[0], read[1])
    if found is not None and is_first_process():
        for topic, text in found.lines():
            say(f"{topic:<9} {text}")
    options: dict[str, Any] = {
        "data": data,
        "settings": (*(found.settings if found else ()), *(settings or ())),
        "loaded": found.loaded if found else None,
        "seed": seed,
        "out": out,
        "devices": devices,
        "resume": resume,
        "epochs": epochs,
        "precision": precision,
        "tensorboard": tensorboard,
        "callbacks": [run_display()],
    }
    try:
        if own.folds is not None or (resume and fold_folders(resumed_folder(recipe, out))):
            del options["data"]
            folder, folds_summary = train_folds(own.folds, recipe, **options)
            tell = partial(_tell_folds, folder, folds_summary)
        elif (runs or 1) > 1 or (resume and seed_folders(resumed_folder(recipe, out))):
            cluster: dict[str, Any] = (
                {} if ray is None else {"ray": ray, "threads": threads or 1, "watcher": _tell_state}
            )
            folder, summary = train_runs(runs, recipe, **options, **cluster)
            tell = partial(_tell_runs, folder, summary)
        else:
            tell = partial(_tell, train_one(recipe, **options))
    except Stopped as stopped:
        say("stopped; the states of all runs are saved: --resume continues them", err=True)
        raise typer.Exit(128 + stopped.number) from None
    except Interrupted as interrupted:
        if is_first_process():
            say(str(interrupted), err=True)
        raise typer.Exit(128 + interrupted.number) from None
    if is_first_process():
        tell()


def _check_cluster(runs: int | None, resume: bool, ray: Text, threads: int | None, devices: int) -> None:
    if ray is None and threads is not None:
        raise InputError("--threads: works with --ray only; otherwise OMP_NUM_THREADS sets the number of threads")
    if ray is not None and (runs or 1) < 2 and not resume:
        raise InputError("--ray: expected --runs with the number of seeds to train on the cluster")
    if ray is not None and devices > 1:
        raise InputError("--devices: cannot be combined with --ray, where every run is one process")


def _tell_state(name: str, state: str) -> None:
    say(f"{name}: {state}")


def _tell(run: "Run") -> None:
    """Print the score, the run directory, and the next command."""
    summary = run.summary()
    if summary is None:
        return
    score = "has nothing to score" if summary.test_score is None else f"{summary.test_score:.4f}"
    by = "the last" if summary.valid_score is None else "the best by validation"
    valid = "" if summary.valid_score is None else f" (valid {summary.valid_score:.4f})"
    network = "at" if summary.blend is None else "with the forest and the network of"
    say(f"test {summary.metric} {score}{valid} {network} epoch {summary.best_epoch}, {by}; {summary.seconds:.0f} s")
    if summary.blend is not None:
        say(f"blend {summary.blend.line(summary.metric)}")
    scores = run.scores()
    for part, found in ({} if scores is None else scores.parts).items():
        if len(found) > 1 or any(score.targets for score in found.values()):
            for line in score_lines(found):
                say(f"{part} {line}")
    say(f"run  {run.path}")
    sample = run.path / "sample.csv"
    if sample.exists():
        command = ["predict", str(run.path), str(sample), "--id-column", "name", "--output", "predictions.csv"]
    else:
        command = ["evaluate", str(run.path)]
    say(f"next {shlex.join([_program(), *command])}")


def _program() -> str:
    """This program as it can be called again: by its path where its name alone would not be found."""
    called = sys.argv[0]
    return called if Path(called).name == "deepergcn" and which("deepergcn") is None else "deepergcn"


def _tell_folds(folder: Path, summary: "FoldsSummary") -> None:
    if summary.test_mean is not None:
        deviation = "" if summary.test_deviation is None else f" ± {summary.test_deviation:.4f}"
        say(f"test {summary.metric} {summary.test_mean:.4f}{deviation} over {summary.folds} folds")
    say(f"folds {folder}, with the predictions of all labelled rows in out_of_fold.parquet")


def _tell_runs(folder: Path, summary: "RunsSummary") -> None:
    if summary.test_mean is not None:
        deviation = "" if summary.test_deviation is None else f" ± {summary.test_deviation:.4f}"
        say(f"test {summary.metric} {summary.test_mean:.4f}{deviation} over {len(summary.seeds)} seeds")
    say(f"runs {folder}")
