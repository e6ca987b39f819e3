"""The schema of a study's YAML file, and the studies that come with the package."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from deepergcn.errors import InputError
from deepergcn.recipes.load import parse_yaml
from deepergcn.report.study import Chart, Column, Name, Part, Row

_FOLDER = resources.files("deepergcn.studies").joinpath("definitions")

Setting = bool | int | float | str | None
Settings = dict[str, Setting]


class TaskRow(Part):
    """A row that is a task: its recipe, and what is published about it besides the mean."""

    name: Name
    recipe: str
    label: str = ""


class StudyColumn(Part):
    """A column: the settings that make it, and its published value in every row, null where there is none."""

    name: Name
    label: str
    group: str = ""
    set: Settings = Field(default_factory=dict)
    published: tuple[float | None, ...] = ()
    deviations: tuple[float, ...] = ()

    def shown(self) -> Column:
        return Column(name=self.name, label=self.label, group=self.group)


class Adjustment(Part):
    """Settings of the cells in some rows and columns; all rows, or columns, where none is named."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    set: Settings


class StudyDefinition(Part):
    """A study: a recipe and the axes along which it varies.

    Attributes:
        name: the name on the command line.
        title: the heading.
        claim: what the paper concludes from it.
        recipe: the recipe of every cell whose row names no other.
        layers: the rows, where they are depths.
        tasks: the rows, where they are tasks.
        columns: the columns.
        adjust: settings of single rows and columns.
        seeds: the number of seeds.
        charts: how the scores are drawn.
    """

    name: Name
    title: str
    claim: str
    recipe: str | None = None
    layers: tuple[Annotated[int, Field(ge=1)], ...] = ()
    tasks: tuple[TaskRow, ...] = ()
    columns: Annotated[tuple[StudyColumn, ...], Field(min_length=1)]
    adjust: tuple[Adjustment, ...] = ()
    seeds: Annotated[int, Field(ge=1)] = 1
    charts: tuple[Chart, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> "StudyDefinition":
        if bool(self.layers) == bool(self.tasks):
            raise ValueError("expected either layers or tasks as rows")
        if self.layers and self.recipe is None:
            raise ValueError("expected a recipe, since the rows are layers")
        rows = {row.name for row in self.rows()}
        columns = [column.name for column in self.columns]
        if len(set(columns)) < len(columns):
            raise ValueError("expected columns with different names")
        for column in self.columns:
            for values in (column.published, column.deviations):
                if values and len(values) != len(rows):
                    raise ValueError(f"column {column.name} has {len(values)} values; expected {len(rows)}")
        named = [(name, rows) for entry in self.adjust for name in entry.rows]
        named += [(name, set(columns)) for entry in self.adjust for name in entry.columns]
        named += [(name, set(columns)) for chart in self.charts for name in chart.columns]
        for name, known in named:
            if name not in known:
                raise ValueError(f"{name} is not among {', '.join(sorted(known))}")
        return self

    def rows(self) -> tuple[Row, ...]:
        """The rows of the table."""
        if self.layers:
            return tuple(depth_row(layers) for layers in self.layers)
        return tuple(Row(name=task.name, label=task.label or task.name) for task in self.tasks)

    def published(self) -> dict[str, dict[str, float | None]]:
        """The published values by column and row."""
        return self._by_cell({column.name: column.published for column in self.columns})

    def deviations(self) -> dict[str, dict[str, float]]:
        """The published standard deviations by column and row."""
        return self._by_cell({column.name: column.deviations for column in self.columns})

    def _by_cell(self, values: Mapping[str, tuple[Any, ...]]) -> dict[str, dict[str, Any]]:
        rows = [row.name for row in self.rows()]
        return {name: dict(zip(rows, cells, strict=True)) for name, cells in values.items() if cells}

    def settings(self, row: Row, column: StudyColumn) -> Settings:
        """What a cell changes in its recipe."""
        found: Settings = {} if row.layers is None else {"model.num_layers": row.layers}
        found |= column.set
        for entry in self.adjust:
            if (not entry.rows or row.name in entry.rows) and (not entry.columns or column.name in entry.columns):
                found |= entry.set
        return found

    def recipe_of(self, row: Row) -> str:
        """The recipe of a row."""
        found = next((task.recipe for task in self.tasks if task.name == row.name), self.recipe)
        assert found is not None
        return found


def depth_row(layers: int) -> Row:
    """The row of a depth."""
    return Row(name=f"layers-{layers}", label=str(layers), layers=layers)


def study_names() -> tuple[str, ...]:
    """The studies that come with the package, the paper's tables first."""
    names = [Path(entry.name).stem for entry in _FOLDER.iterdir() if entry.name.endswith(".yaml")]
    return tuple(sorted(names, key=lambda name: (not name.startswith("table-"), name)))


def load_study(name_or_path: str | Path) -> StudyDefinition:
    """The study with this name, or in this YAML file."""
    text, path = str(name_or_path), Path(name_or_path)
    if text in study_names():
        content = _FOLDER.joinpath(f"{text}.yaml").read_text(encoding="utf-8")
    elif path.is_file():
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{text}: the study cannot be read ({error})") from error
    else:
        raise InputError(f"{text}: is neither a study's name ({', '.join(study_names())}) nor a file")
    try:
        return StudyDefinition.model_validate(parse_yaml(content, f"{text}: is not YAML"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{text}: {place + ': ' if place else ''}{first['msg'].removeprefix('Value error, ')}"
        ) from error
