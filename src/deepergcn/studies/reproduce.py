"""``reproduce``: a study from its definition to a folder of run directories."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.report.study import CellRun, Row, StudyTable, is_study, read_study, write_study
from deepergcn.runs.run import Run
from deepergcn.studies.cells import Cell, Grid, Source, chosen_columns, chosen_rows, is_finished, matches, plan_cells
from deepergcn.studies.commit import code_commit
from deepergcn.studies.fit import fit_source, is_made_for
from deepergcn.studies.pool import run_cell, run_cells
from deepergcn.studies.ray_pool import RayTask, run_on_ray
from deepergcn.studies.schema import StudyDefinition

ROOT = Path("studies")


@dataclass(frozen=True)
class Plan:
    """A study that is ready to run.

    Attributes:
        folder: the folder of the study.
        table: what ``study.json`` will say.
        cells: the runs that were asked for.
    """

    folder: Path
    table: StudyTable
    cells: tuple[Cell, ...]

    def unfinished(self) -> list[Cell]:
        """The cells that are still to be trained."""
        return [cell for cell in self.cells if not is_finished(cell)]


def make_plan(
    study: StudyDefinition,
    grid: Grid,
    *,
    recipe: str | None = None,
    data: str | None = None,
    out: str | Path | None = None,
) -> Plan:
    """Plan a study; nothing is written.

    Args:
        study: the study.
        grid: which of its cells.
        recipe: the recipe instead of the study's.
        data: the dataset instead of the recipe's, by name or path.
        out: the folder of the study; ``studies/`` and its name where none is given.
    """
    rows = chosen_rows(study, grid)
    if study.tasks and recipe is not None:
        raise InputError(f"--recipe: every row of {study.name} has its own recipe; expected --rows")
    if study.tasks and data is not None:
        rows = _rows_of_data(study, rows, data)
        grid = replace(grid, rows=[row.name for row in rows])
    sources, fitted = {}, dict[str, None]()
    for row in rows:
        name = recipe or study.recipe_of(row)
        if data is None:
            sources[row.name] = Source(name)
            continue
        sources[row.name], told = fit_source(name, data, chosen=recipe is not None)
        fitted |= dict.fromkeys(told)
    folder = Path(out) if out is not None else ROOT / study.name
    cells = plan_cells(study, grid, sources, folder)
    table = StudyTable(
        name=study.name,
        title=study.title,
        claim=study.claim,
        dataset=", ".join(dict.fromkeys(Path(cell.recipe.data.source).name for cell in cells)),
        recipe=", ".join(dict.fromkeys(source.recipe for source in sources.values())),
        fitted=tuple(fitted),
        rows=rows,
        columns=tuple(column.shown() for column in chosen_columns(study, grid)),
        published=study.published(),
        deviations=study.deviations(),
        charts=study.charts,
        runs=tuple(cell.planned(folder) for cell in cells),
    )
    return Plan(folder, _with_earlier(table, folder, study), tuple(cells))


def reuse_runs(plan: Plan, folders: Sequence[Path]) -> int:
    """Copy ended runs of the same recipe and seed, found anywhere in the folders, to their cells; their number."""
    wanted: dict[int, list[Cell]] = {}
    for cell in plan.unfinished():
        wanted.setdefault(cell.seed, []).append(cell)
    count = 0
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"--reuse {folder}: is not a folder")
        for file in sorted(folder.rglob("summary.json")):
            if not (file.parent / "run.json").is_file():
                continue
            run = Run.open(file.parent)
            for cell in wanted.get(run.info.seed, []):
                if (cell.folder / "run.json").exists() or not matches(run, cell):
                    continue
                part = cell.folder.with_name(f"{cell.folder.name}.part")
                shutil.rmtree(part, ignore_errors=True)
                shutil.copytree(run.path, part)
                part.replace(cell.folder)
                count += 1
    return count


def reproduce(
    plan: Plan,
    jobs: int = 1,
    threads: int = 1,
    ray: str | None = None,
    watcher: Callable[[Cell, str, str], None] = lambda cell, state, reason: None,
    look: Callable[[], None] = lambda: None,
) -> StudyTable:
    """Train the cells of a plan that have not ended, and keep ``study.json`` up to date.

    Args:
        plan: the study.
        ray: the address of a Ray cluster, or ``auto``, which then trains the cells instead of ``jobs`` processes here.
        jobs, threads, watcher, look: as in :func:`deepergcn.studies.pool.run_cells`.
    """
    runs = {run.key: run for run in plan.table.runs}

    def note(cell: Cell, state: str, reason: str) -> None:
        key = cell.row.name, cell.column.name, cell.seed
        commit = code_commit() if state == "running" else runs[key].commit
        changed = {"state": state, "reason": reason, "commit": commit}
        runs[key] = CellRun.model_validate(runs[key].model_dump() | changed)
        write_study(plan.folder, _with_runs(plan.table, runs))
        watcher(cell, state, reason)

    todo = plan.unfinished()
    waiting = {cell.name for cell in todo}
    for cell in plan.cells:
        if cell.name not in waiting:
            key = cell.row.name, cell.column.name, cell.seed
            runs[key] = CellRun.model_validate(runs[key].model_dump() | {"state": "finished", "reason": ""})
    write_study(plan.folder, _with_runs(plan.table, runs))
    if ray is None:
        run_cells(todo, jobs, threads, note, look)
    else:
        tasks = {RayTask(cell.name, cell.folder.resolve(), partial(_train, cell, threads)): cell for cell in todo}
        run_on_ray(list(tasks), ray, plan.folder, threads, lambda task, state, why: note(tasks[task], state, why), look)
    return _with_runs(plan.table, runs)


def _train(cell: Cell, threads: int, folder: Path) -> None:
    run_cell(replace(cell, folder=folder), threads)


def _with_runs(table: StudyTable, runs: dict[tuple[str, str, int], CellRun]) -> StudyTable:
    return table.model_copy(update={"runs": tuple(runs.values())})


def _rows_of_data(study: StudyDefinition, rows: Sequence[Row], data: str) -> tuple[Row, ...]:
    """The rows of tasks that the dataset stands for."""
    if len(rows) == 1:
        return tuple(rows)
    found = tuple(row for row in rows if is_made_for(load_recipe(study.recipe_of(row)), data))
    if not found:
        raise InputError(
            f"--data {data}: no row of {study.name} has this dataset; expected --rows with one of its rows"
        )
    return found


def _with_earlier(table: StudyTable, folder: Path, study: StudyDefinition) -> StudyTable:
    """The table with what an earlier call has asked for in the same folder."""
    if not is_study(folder):
        return table
    old = read_study(folder)
    for key in ("name", "dataset", "recipe"):
        if getattr(old, key) != getattr(table, key):
            raise InputError(
                f"{folder}: has the study {old.name} of recipe {old.recipe} on {old.dataset}; expected another --out"
            )
    rows = {row.name: row for row in (*old.rows, *table.rows)}
    columns = {column.name: column for column in (*old.columns, *table.columns)}
    order = [column.name for column in study.columns]
    before = {run.key: run for run in old.runs}
    runs = before | {run.key: _still(run, before.get(run.key)) for run in table.runs}
    return table.model_copy(
        update={
            "rows": tuple(sorted(rows.values(), key=lambda row: row.layers or 0)),
            "columns": tuple(sorted(columns.values(), key=lambda column: order.index(column.name))),
            "runs": tuple(runs.values()),
        }
    )


def _still(new: CellRun, old: CellRun | None) -> CellRun:
    """A run that is planned again, with the commit by which an earlier call trained it."""
    return new if old is None else new.model_copy(update={"commit": old.commit})
