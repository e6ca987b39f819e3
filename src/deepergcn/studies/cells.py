"""The cells of a study: the recipe, seed, run directory and command of each run."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from deepergcn.data.seeds import check_seed, check_seeds
from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.report.study import CellRun, Row
from deepergcn.runs.dataset import absolute
from deepergcn.runs.run import Run
from deepergcn.studies.schema import Setting, StudyColumn, StudyDefinition, depth_row

_COMPARED = ("data", "model", "optimizer", "loss", "training", "evaluation")


@dataclass(frozen=True)
class Source:
    """What the cells of a row are trained on: a recipe, the dataset instead of its own, and further settings."""

    recipe: str
    data: str | None = None
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setup:
    """What the seeds of a row and column share.

    Attributes:
        row, column: the place.
        source: what its runs are trained on.
        changes: what they change in the recipe, as ``key=value``.
        shared: what the user changes in every cell.
    """

    row: Row
    column: StudyColumn
    source: Source
    changes: tuple[str, ...]
    shared: tuple[str, ...] = ()

    @cached_property
    def recipe(self) -> Recipe:
        """The resolved recipe."""
        recipe = load_recipe(self.source.recipe, self.settings)
        return recipe.model_copy(update={"data": absolute(recipe.data)})

    @property
    def settings(self) -> tuple[str, ...]:
        """All changes to the recipe, as ``key=value``."""
        data = () if self.source.data is None else (f"data.source={json.dumps(self.source.data)}",)
        return (*data, *self.source.settings, *self.changes, *self.shared)

    @property
    def name(self) -> str:
        """Column and row."""
        return f"{self.column.name}/{self.row.name}"


@dataclass(frozen=True)
class Cell:
    """One run of a study.

    Attributes:
        setup: what it shares with the other seeds, of which the recipe is resolved once for all.
        seed: its seed.
        folder: its run directory.
    """

    setup: Setup
    seed: int
    folder: Path

    @property
    def row(self) -> Row:
        """The row."""
        return self.setup.row

    @property
    def column(self) -> StudyColumn:
        """The column."""
        return self.setup.column

    @property
    def recipe(self) -> Recipe:
        """The resolved recipe."""
        return self.setup.recipe

    @property
    def name(self) -> str:
        """Column, row and seed."""
        return f"{self.setup.name}/seed-{self.seed}"

    def command(self) -> str:
        """The command that trains this run alone."""
        source = self.setup.source
        words = ["deepergcn", "train", source.recipe]
        if source.data is not None:
            words += ["--data", source.data]
        for setting in (*source.settings, *self.setup.changes, *self.setup.shared):
            words += ["--set", setting]
        return shlex.join([*words, "--seed", str(self.seed), "--out", str(self.folder)])

    def planned(self, out: Path) -> CellRun:
        """The run as the study's table lists it."""
        return CellRun(
            row=self.row.name,
            column=self.column.name,
            seed=self.seed,
            folder=str(self.folder.relative_to(out)),
            command=self.command(),
            settings=self.setup.shared,
        )


@dataclass(frozen=True)
class Grid:
    """Which cells of a study are run; None for all.

    Attributes:
        layers: depths, also others than the study's.
        rows: names of rows, where they are tasks.
        columns: names of columns.
        seeds: the number of seeds.
        first_seed: the first of them.
        epochs: the number of epochs instead of the recipe's.
        settings: changes to every cell, as ``key=value``.
    """

    layers: Sequence[int] | None = None
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    seeds: int | None = None
    first_seed: int = 0
    epochs: int | None = None
    settings: tuple[str, ...] = ()


def chosen_rows(study: StudyDefinition, grid: Grid) -> tuple[Row, ...]:
    """The rows of the study that the grid names."""
    if grid.layers is not None:
        if not study.layers:
            raise InputError(f"--layers: the rows of {study.name} are tasks, not depths; expected --rows")
        if not grid.layers or min(grid.layers) < 1:
            raise InputError(f"--layers is {', '.join(map(str, grid.layers)) or 'empty'}; expected at least 1")
        return tuple(depth_row(layers) for layers in sorted(set(grid.layers)))
    rows = study.rows()
    return rows if grid.rows is None else _named(grid.rows, {row.name: row for row in rows}, "--rows")


def chosen_columns(study: StudyDefinition, grid: Grid) -> tuple[StudyColumn, ...]:
    """The columns of the study that the grid names."""
    columns = {column.name: column for column in study.columns}
    return study.columns if grid.columns is None else _named(grid.columns, columns, "--columns")


def plan_cells(study: StudyDefinition, grid: Grid, sources: dict[str, Source], out: Path) -> list[Cell]:
    """The runs of a study in the order in which they are trained: by seed, then by row.

    Args:
        study: the study.
        grid: which of its cells.
        sources: what the cells of each row are trained on, by the row's name.
        out: the folder of the study.
    """
    epochs = () if grid.epochs is None else (f"training.epochs={grid.epochs}",)
    first = check_seed(grid.first_seed, "--first-seed")
    count = study.seeds if grid.seeds is None else check_seeds(grid.seeds, "--seeds")
    setups = []
    for row in chosen_rows(study, grid):
        for column in chosen_columns(study, grid):
            changes = tuple(f"{key}={_yaml(value)}" for key, value in study.settings(row, column).items())
            setups.append(Setup(row, column, sources[row.name], (*changes, *epochs), grid.settings))
    return [
        Cell(setup, seed, out / setup.column.name / setup.row.name / f"seed-{seed}")
        for seed in range(first, first + count)
        for setup in setups
    ]


def is_finished(cell: Cell) -> bool:
    """Whether the cell's run directory holds an ended run of its recipe and seed."""
    if not (cell.folder / "summary.json").is_file():
        return False
    return matches(Run.open(cell.folder), cell)


def matches(run: Run, cell: Cell) -> bool:
    """Whether a run is one of the cell's recipe and seed."""
    return run.info.seed == cell.seed and difference(run, cell) is None


def difference(run: Run, cell: Cell, but: Sequence[str] = ()) -> str | None:
    """The first setting that a run and a cell do not share, besides those in ``but``; None if there is none."""
    old, new = compared_settings(run.recipe), compared_settings(cell.recipe)
    for key in [*old, *(key for key in new if key not in old)]:
        if old.get(key) != new.get(key) and key not in but:
            return f"{key} {old.get(key)}, not {new.get(key)}"
    return None


def compared_settings(recipe: Recipe) -> dict[str, Any]:
    """What decides the scores of a recipe, by key."""
    values = recipe.model_dump(mode="json", include=set(_COMPARED))
    values["data"].pop("inputs")
    return {f"{section}.{key}": value for section, inner in values.items() for key, value in inner.items()}


def _named(names: Sequence[str], known: dict[str, Any], option: str) -> tuple[Any, ...]:
    for name in names:
        if name not in known:
            raise InputError(f"{option}: there is no {name}; expected one or more of {', '.join(known)}")
    return tuple(value for name, value in known.items() if name in names)


def _yaml(value: Setting) -> str:
    return value if isinstance(value, str) else json.dumps(value)
