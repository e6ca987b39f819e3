"""``deepergcn train``: one command from data to a trained network."""

import shlex
import sys
from functools import partial
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepergcn.cli.terminal import say
from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.runs.run import Run
    from deepergcn.studies.seeds import RunsSummary
    from deepergcn.training.own_data import OwnData

Text = str | None
_OWN = "Your own data"


def train(
    recipe: Annotated[
        Text, typer.Argument(metavar="RECIPE", help="Name or YAML file of a recipe. Default: solubility.")
    ] = None,
    data: Annotated[Text, typer.Option("--data", help="Dataset to use instead of the recipe's: name or path.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, e.g. model.num_layers=14.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Seed of weights, shuffling, dropout and partitions. Default: 0.", min=0),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", help="Train this number of seeds; give mean and deviation.", min=1)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Run directory. Default: runs/RECIPE, numbered if it exists.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Number of epochs, instead of the recipe's.", min=1)
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume the run or seeds in --out, or the newest of the recipe."),
    ] = False,
    precision: Annotated[Text, typer.Option("--precision", help="Precision of the computation: 32 or bf16.")] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard events too.")] = False,
    devices: Annotated[
        int, typer.Option("--devices", help="The number of GPUs, or of processes without one.", min=1)
    ] = 1,
    nodes: Annotated[
        Text,
        typer.Option("--nodes", metavar="FILE", help="Own table of nodes.", rich_help_panel=_OWN),
    ] = None,
    edges: Annotated[
        Text,
        typer.Option("--edges", help="Own table of edges, to go with --nodes.", rich_help_panel=_OWN),
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", help="The column of --nodes to learn.", rich_help_panel=_OWN)
    ] = None,
    molecules: Annotated[
        Text, typer.Option("--molecules", help="Own file of molecules: CSV, parquet, SDF.", rich_help_panel=_OWN)
    ] = None,
    smiles_column: Annotated[
        Text, typer.Option("--smiles-column", help="The column of SMILES.", rich_help_panel=_OWN)
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option("--target", help="The column of --molecules to learn.", rich_help_panel=_OWN)
    ] = None,
    id_column: Annotated[Text, typer.Option("--id-column", help="The column of ids.", rich_help_panel=_OWN)] = None,
    split: Annotated[
        Text,
        typer.Option(
            "--split",
            help="A column that says train, valid or test; random; or scaffold, for molecules.",
            rich_help_panel=_OWN,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A molecule that cannot be read is an error.", rich_help_panel=_OWN)
    ] = False,
    directed: Annotated[
        bool, typer.Option("--directed", help="--edges go from source to target only.", rich_help_panel=_OWN)
    ] = False,
) -> None:
    """Train a deep graph network: a recipe, your own molecules, or your own tables of nodes and edges."""
    from deepergcn.cli.progress import run_display
    from deepergcn.runs.folders import resumed_folder, seed_folders
    from deepergcn.studies.seeds import train_runs
    from deepergcn.training.distributed import is_first_process
    from deepergcn.training.signals import Interrupted
    from deepergcn.training.train import train as train_one

    for_molecules = {"--smiles-column": smiles_column, "--target": target, "--strict": strict}
    for_tables = {"--label": label, "--directed": directed}
    if molecules is not None:
        _refuse(for_tables | {"--nodes": nodes, "--edges": edges}, "does not go with --molecules")
        recipe, found = (
            recipe or "own-molecules",
            _molecules(molecules, smiles_column, target, id_column, split, strict),
        )
    elif nodes is not None or edges is not None:
        _refuse(for_molecules, "does not go with --nodes and --edges")
        recipe, found = recipe or "own-tables", _tables(nodes, edges, label, id_column, split, directed)
    else:
        others = {"--id-column": id_column, "--split": split}
        _refuse(for_molecules | for_tables | others, "expected --molecules, or --nodes and --edges, with it")
        found = None
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
        if (runs or 1) > 1 or (resume and seed_folders(resumed_folder(recipe, out))):
            folder, summary = train_runs(runs, recipe, **options)
            tell = partial(_tell_runs, folder, summary)
        else:
            tell = partial(_tell, train_one(recipe, **options))
    except Interrupted as interrupted:
        if is_first_process():
            say(str(interrupted), err=True)
        raise typer.Exit(128 + interrupted.number) from None
    if is_first_process():
        tell()


def _refuse(options: dict[str, Any], why: str) -> None:
    """Refuse the first of these options that was given."""
    name = next((name for name, value in options.items() if value), None)
    if name is not None:
        raise InputError(f"{name}: {why}")


def _molecules(
    molecules: str, smiles_column: Text, target: list[str] | None, id_column: Text, split: Text, strict: bool
) -> "OwnData":
    from deepergcn.cli.progress import molecule_bar
    from deepergcn.training.own_data import own_molecules

    if not target:
        raise InputError("--molecules: expected --target with the column to learn")
    with molecule_bar() as progress:
        return own_molecules(
            molecules,
            targets=target,
            smiles_column=smiles_column,
            id_column=id_column,
            split=split,
            strict=strict,
            progress=progress,
        )


def _tables(
    nodes: Text, edges: Text, label: list[str] | None, id_column: Text, split: Text, directed: bool
) -> "OwnData":
    from deepergcn.training.own_data import own_tables

    if nodes is None or not label:
        raise InputError("--edges: expected --nodes with the table of nodes, and --label with its column to learn")
    return own_tables(nodes, edges, label=label, id_column=id_column or "id", split=split, directed=directed)


def _tell(run: "Run") -> None:
    """The score, where the run is, and what to do next."""
    summary = run.summary()
    if summary is None:
        return
    score = "has nothing to score" if summary.test_score is None else f"{summary.test_score:.4f}"
    by = "the last" if summary.valid_score is None else f"the best by validation ({summary.valid_score:.4f})"
    say(f"test {summary.metric} {score} at epoch {summary.best_epoch}, {by}; {summary.seconds:.0f} s")
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


def _tell_runs(folder: Path, summary: "RunsSummary") -> None:
    if summary.test_mean is not None:
        deviation = "" if summary.test_deviation is None else f" ± {summary.test_deviation:.4f}"
        say(f"test {summary.metric} {summary.test_mean:.4f}{deviation} over {len(summary.seeds)} seeds")
    say(f"runs {folder}")
