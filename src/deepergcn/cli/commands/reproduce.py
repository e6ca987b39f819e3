"""``deepergcn reproduce``: the paper's tables and figures, one command each."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepergcn.cli.table import print_table
from deepergcn.cli.terminal import say
from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.studies.reproduce import Plan

Text = str | None


def reproduce(
    study: Annotated[
        Text, typer.Argument(metavar="STUDY", help="Name or YAML file of a study. Without it, the studies are listed.")
    ] = None,
    data: Annotated[
        Text,
        typer.Option(
            "--data", help="Dataset to use instead of the paper's: name or path; input and output sizes are adapted."
        ),
    ] = None,
    recipe: Annotated[Text, typer.Option("--recipe", help="Recipe to use instead of the study's.")] = None,
    layers: Annotated[
        Text, typer.Option("--layers", metavar="N,N", help="Depths to train, instead of the study's.")
    ] = None,
    rows: Annotated[Text, typer.Option("--rows", metavar="NAME,NAME", help="Rows to train. Default: all.")] = None,
    columns: Annotated[
        Text, typer.Option("--columns", metavar="NAME,NAME", help="Columns to train. Default: all.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Number of epochs, instead of the recipe's.", min=1)
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", help="Number of seeds.", min=1)] = None,
    first_seed: Annotated[int, typer.Option("--first-seed", help="First of the seeds.", min=0)] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of every cell.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="Number of processes. Default: one per core.", min=1)
    ] = None,
    threads: Annotated[int, typer.Option("--threads", help="Number of threads per cell.", min=1)] = 1,
    ray: Annotated[
        Text, typer.Option("--ray", metavar="ADDRESS|auto", help="Train the cells on this Ray cluster instead.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the study. Default: studies/STUDY.")] = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            "--reuse", metavar="DIR", help="Copy finished runs with the same recipe and seed from this folder."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the cells with their estimated times, measured on one step.")
    ] = False,
) -> None:
    """Reproduce a table or figure of the paper. Finished cells are kept and interrupted ones resumed."""
    from deepergcn.cores import available_cores, check_jobs, check_threads
    from deepergcn.studies.cells import Grid
    from deepergcn.studies.reproduce import make_plan, reuse_runs
    from deepergcn.studies.schema import load_study

    if study is None:
        _list()
        return
    if jobs is not None and ray is not None:
        raise InputError("--jobs: cannot be combined with --ray, which fills the cluster")
    if ray is None:
        check_threads(threads)
    # Cells side by side waste nothing: a step of 7 layers takes 0.041 s of processor time with one thread and 0.044 s
    # with two on the yeast network, 0.257 and 0.277 s on minesweeper.
    jobs = max(available_cores() // threads, 1) if jobs is None else check_jobs(jobs)
    grid = Grid(
        layers=None if layers is None else _numbers(layers),
        rows=None if rows is None else rows.split(","),
        columns=None if columns is None else columns.split(","),
        seeds=seeds,
        first_seed=first_seed,
        epochs=epochs,
        settings=tuple(settings or ()),
    )
    plan = make_plan(load_study(study), grid, recipe=recipe, data=data, out=out)
    table = plan.table
    say(f"{table.name}: {table.title}; recipe {table.recipe} on {table.dataset}, {len(plan.cells)} cells")
    for sentence in table.fitted:
        say(f"adapted: {sentence}")
    if dry_run:
        _dry_run(plan, jobs)
        return
    if reuse:
        say(f"reused: {reuse_runs(plan, reuse)} finished runs")
    _run(plan, jobs, threads, ray)


def _run(plan: "Plan", jobs: int, threads: int, ray: Text) -> None:
    from deepergcn.cli.study_progress import study_progress
    from deepergcn.studies.pool import Stopped
    from deepergcn.studies.reproduce import reproduce as run_plan

    todo = plan.unfinished()
    where = f"{jobs} at a time" if ray is None else f"on the Ray cluster {ray}"
    say(f"{len(plan.cells) - len(todo)} finished, {len(todo)} to train, {where}, in {plan.folder}")
    try:
        with study_progress(todo) as shown:
            table = run_plan(plan, jobs, threads, ray, watcher=shown.changed, look=shown.look)
    except Stopped as stopped:
        say("stopped; the state is saved: run the same command again to resume", err=True)
        raise typer.Exit(128 + stopped.number) from None
    asked = {(cell.row.name, cell.column.name, cell.seed) for cell in plan.cells}
    failed = [run for run in table.runs if run.state == "failed" and run.key in asked]
    for run in failed:
        say(f"failed: {run.folder}: {run.reason}", err=True)
    say(f"study {plan.folder}: {len(plan.cells) - len(failed)} of {len(plan.cells)} cells finished")
    if failed:
        raise typer.Exit(1)


def _dry_run(plan: "Plan", jobs: int) -> None:
    """List the cells with the number of seeds left to train, and the estimated time of each on one thread."""
    from deepergcn.studies.estimate import estimate_cells

    todo = plan.unfinished()
    seconds = estimate_cells(todo)
    setups = {cell.setup.name: cell.setup for cell in plan.cells}
    left = Counter(cell.setup.name for cell in todo)
    times = {cell.setup.name: _duration(seconds[cell.name]) for cell in todo}
    rows = (
        (name, str(left[name]), str(setup.recipe.training.epochs), times.get(name, "finished"))
        for name, setup in setups.items()
    )
    print_table(("cell", "seeds", "epochs", "time of each"), rows, right=["seeds", "epochs", "time of each"])
    total = sum(seconds.values())
    say(f"{len(todo)} cells to train: {_duration(total)} in one process, {_duration(total / jobs)} in {jobs}")


def _list() -> None:
    from deepergcn.studies.schema import load_study, study_names

    rows = []
    for name in study_names():
        study = load_study(name)
        labels = ", ".join(row.label for row in study.rows()) + (" layers" if study.layers else "")
        rows.append((name, study.title, labels, str(len(study.rows()) * len(study.columns) * study.seeds)))
    print_table(("study", "what", "rows", "runs"), rows, right=["runs"])
    say("to run one: deepergcn reproduce STUDY; --dry-run estimates how long it takes")


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError as error:
        raise InputError(f"--layers is {text}; expected numbers separated by commas, such as 3,7,14") from error


def _duration(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes} min" if not hours else f"{hours} h {minutes:02d} min"
