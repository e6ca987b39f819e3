"""The run directory: all that a report, a prediction or a resume needs.

| file | what it holds |
|---|---|
| ``recipe.yaml`` | the recipe with every change made to it |
| ``run.json`` | :class:`RunInfo`: versions, machine, seed, parameter count, data digest, task, how the data was read |
| ``skipped.csv`` | the molecules that could not be read, with their rows and the reasons, where there are any |
| ``metrics.csv`` | a row an epoch: :data:`METRIC_COLUMNS`; empty where nothing was evaluated |
| ``dynamics.csv`` | a row an epoch and layer: :data:`DYNAMIC_COLUMNS`; empty where a layer has no such value |
| ``model.safetensors`` | the weights of the best epoch, with recipe and run inside: this one file predicts |
| ``state/`` | the last two states of training, for resuming |
| ``summary.json`` | :class:`Summary`, once the run has ended |
| ``plots/`` | pictures of the csv files |
| ``tensorboard/`` | the same as TensorBoard events, where that was asked for |
| ``lock`` | held by the process that trains |
"""

import csv
import io
from pathlib import Path
from typing import TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from deepergcn.data.provenance import OptionalProvenance
from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.recipes.load import dump_recipe, read_recipe
from deepergcn.recipes.schema import Inputs, Recipe
from deepergcn.runs.environment import Environment

FORMAT = 2
"""The version of run directories and of model files."""

FORMATS = (1, 2)
"""The versions that can be read; in version 1 the environment of a run is unknown."""

METRIC_COLUMNS = (
    "epoch",
    "train_loss",
    "valid_loss",
    "test_loss",
    "train_score",
    "valid_score",
    "test_score",
    "learning_rate",
    "seconds",
    "peak_memory_mb",
)
DYNAMIC_COLUMNS = ("epoch", "layer", "beta", "p", "y", "s")

FILES = (
    "recipe.yaml",
    "run.json",
    "skipped.csv",
    "metrics.csv",
    "dynamics.csv",
    "model.safetensors",
    "summary.json",
    "sample.csv",
)
FOLDERS = ("state", "plots")
"""What training writes into a run directory."""

Row = dict[str, float | None]

M = TypeVar("M", bound=BaseModel)


class _Json(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")


class _Format(BaseModel):
    """The version alone, of a file whose other fields may be unknown here."""

    format: int


class RunInfo(_Json):
    """The record of a run, apart from its recipe.

    Attributes:
        format: the version of the run directory.
        seed: the seed of weights, shuffling, dropout and partitions.
        versions: of Python and of the packages that compute.
        environment: the machine and threads that the run was started with; None where that is unknown.
        parameters: the number of trainable parameters.
        dataset: the name of the dataset.
        digest: of the files that it was read from; empty for a converted model.
        inputs: what the network was built for; ``inputs.task.task()`` is the task.
        label_names: the names of the outputs, or empty.
        provenance: how the user's own file was read, to read others in the same way; None for other datasets.
    """

    format: int
    seed: int
    versions: dict[str, str]
    environment: Environment | None = None
    parameters: int
    dataset: str
    digest: str
    inputs: Inputs
    label_names: tuple[str, ...]
    provenance: OptionalProvenance = Field(validation_alias=AliasChoices("provenance", "source"))


class Summary(_Json):
    """How a run ended: the best epoch by its validation score, and all scores at it."""

    recipe: str
    seed: int
    metric: str
    epochs: int
    best_epoch: int
    train_score: float | None
    valid_score: float | None
    test_score: float | None
    parameters: int
    seconds: float


class Run:
    """A run directory that is whole: opened by :meth:`open`, started by :meth:`create`.

    Attributes:
        path: the directory.
        recipe: the resolved recipe.
        info: what else the run was made of.
    """

    def __init__(self, path: Path, recipe: Recipe, info: RunInfo) -> None:
        self.path = path
        self.recipe = recipe
        self.info = info

    @classmethod
    def create(cls, path: Path, recipe: Recipe, info: RunInfo) -> "Run":
        """Start a run directory; ``run.json`` comes last, so that a directory that has it has the recipe too."""
        write_text(path / "recipe.yaml", dump_recipe(recipe))
        write_text(path / "run.json", info.model_dump_json(indent=1) + "\n")
        return cls(path, recipe, info)

    @classmethod
    def open(cls, path: str | Path) -> "Run":
        """The run in a directory; an error says which of its files is missing or not as expected."""
        folder = Path(path)
        if not folder.is_dir():
            raise InputError(f"{folder}: is not a run directory; expected one that deepergcn train has written")
        file = folder / "run.json"
        form = read_json(file, _Format).format
        if form not in FORMATS:
            known = " and ".join(map(str, FORMATS))
            raise InputError(f"{file}: has format {form}; this version of deepergcn reads the formats {known}")
        info = read_json(file, RunInfo)
        file = folder / "recipe.yaml"
        return cls(folder, read_recipe(_read(file), str(file)), info)

    @property
    def model_file(self) -> Path:
        """The weights of the best epoch."""
        return self.path / "model.safetensors"

    def metrics(self) -> list[Row]:
        """The rows of ``metrics.csv``."""
        return read_rows(self.path / "metrics.csv", METRIC_COLUMNS)

    def dynamics(self) -> list[Row]:
        """The rows of ``dynamics.csv``."""
        return read_rows(self.path / "dynamics.csv", DYNAMIC_COLUMNS)

    def summary(self) -> Summary | None:
        """How the run ended; None where it has not."""
        file = self.path / "summary.json"
        return read_json(file, Summary) if file.exists() else None


def read_rows(path: Path, columns: tuple[str, ...]) -> list[Row]:
    """The numbers of a csv file of a run, None for an empty cell."""
    header, *lines = _lines(path) or [[]]
    if tuple(header) != columns:
        raise InputError(f"{path}: has the columns {', '.join(header) or 'none'}; expected {', '.join(columns)}")
    rows: list[Row] = []
    for number, cells in enumerate(lines, start=1):
        try:
            values = [float(cell) if cell else None for cell in cells]
            rows.append(dict(zip(columns, values, strict=True)))
        except ValueError as error:
            raise InputError(f"{path}: row {number} is {','.join(cells)!r}; expected {len(columns)} numbers") from error
    return rows


def _lines(path: Path) -> list[list[str]]:
    """The cells of every line, the header first."""
    lines: list[list[str]] = []
    try:
        lines.extend(csv.reader(io.StringIO(_read(path))))
    except csv.Error as error:
        place = f"row {len(lines)}" if lines else "the header"
        raise InputError(f"{path}: {place} cannot be read ({error}); expected a file of deepergcn train") from error
    return lines


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read ({reason}); expected a file of deepergcn train") from error


def read_json(path: Path, model: type[M]) -> M:
    """The JSON file as a ``model``; an error names the file and the first value that is wrong."""
    return parse_json(_read(path), model, str(path))


def parse_json(text: str, model: type[M], origin: str) -> M:
    """The JSON text as a ``model``; an error, which begins with ``origin``, names the first value that is wrong."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the text"
        raise InputError(f"{origin}: {place}: {first['msg']}") from error
