"""The run directory: everything a report, a prediction or a resume needs.

| file | what it holds |
|---|---|
| ``recipe.yaml`` | the recipe with all changes |
| ``run.json`` | :class:`RunInfo`: versions, machine, seed, parameter count, data digest, task, how the data was read |
| ``data/`` | the data, if it was given in memory; the recipe names it relative to the run directory |
| ``data.json`` | :class:`DataReport`: what was found in the user's own files, if trained on them |
| ``skipped.csv`` | the molecules that could not be read, with row and reason, if any |
| ``teacher.safetensors`` | what the teacher says about the train part, if the recipe has one |
| ``recombined.csv`` | new molecules, and what it says about them, if the recipe asks for any |
| ``metrics.csv`` | one row per epoch: :data:`METRIC_COLUMNS`; empty cells if nothing was evaluated |
| ``dynamics.csv`` | one row per epoch and layer: :data:`DYNAMIC_COLUMNS`; empty cells if a layer has no such value |
| ``model.safetensors`` | the weights of the best epoch with recipe and record: this file alone can predict |
| ``state/`` | the last two states of training, for resuming |
| ``summary.json`` | :class:`Summary`, after the last epoch |
| ``scores.json`` | :class:`RunScores`: all metrics, per target too; this and the next two if trained on own files |
| ``predictions.parquet`` | labels and predictions of the validation and test parts at the best epoch |
| ``split.csv`` | the part of every row |
| ``plots/`` | plots of the CSV files |
| ``tensorboard/`` | the same as TensorBoard events, if requested |
| ``lock`` | held by the training process |
"""

import csv
import io
from pathlib import Path
from typing import TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from deepergcn.data.provenance import OptionalProvenance
from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.recipes.inputs import Inputs
from deepergcn.recipes.load import dump_recipe, read_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.data_report import DataReport
from deepergcn.runs.environment import Environment
from deepergcn.runs.folders import member_folders
from deepergcn.runs.older import as_read
from deepergcn.runs.own_files import own_data_absolute, own_data_relative

FORMAT = 3
"""The format version of run directories and model files."""

FORMATS = (1, 2, 3)
"""The format versions that can be read; 1 does not record the environment, 1 and 2 inferred kinds by other rules."""

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
    "data.json",
    "skipped.csv",
    "teacher.safetensors",
    "recombined.csv",
    "metrics.csv",
    "dynamics.csv",
    "model.safetensors",
    "summary.json",
    "scores.json",
    "predictions.parquet",
    "split.csv",
    "sample.csv",
)
FOLDERS = ("state", "plots")
"""What training writes to a run directory."""

Row = dict[str, float | None]

M = TypeVar("M", bound=BaseModel)


class _Json(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")


class _Format(BaseModel):
    """The format version, of a file whose other fields may be unknown to this version."""

    format: int


class RunInfo(_Json):
    """The record of a run, apart from its recipe.

    Attributes:
        format: the format version of the run directory.
        seed: the seed of weights, shuffling, dropout and partitions.
        versions: the versions of Python and of the packages that affect results.
        environment: the machine and threads that the run was started with; None if unknown.
        parameters: the number of trainable parameters.
        dataset: the name of the dataset.
        digest: the digest of its files; empty for a converted model.
        inputs: the inputs of the network; ``inputs.task.task()`` is the task.
        label_names: the names of the outputs, or empty.
        provenance: how the user's file was read, to read others in the same way; None for other datasets.
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


class BlendSummary(_Json):
    """The weight of a forest in the predictions of a run, and what the network and the forest score alone."""

    weight: float
    trees: int
    network_valid: float | None
    network_test: float | None
    forest_valid: float | None
    forest_test: float | None

    def line(self, metric: str) -> str:
        """It in a few words."""
        alone = [
            f"{name} alone {metric} {', '.join(f'{part} {score:.4f}' for part, score in parts if score is not None)}"
            for name, parts in (
                ("network", (("valid", self.network_valid), ("test", self.network_test))),
                ("forest", (("valid", self.forest_valid), ("test", self.forest_test))),
            )
        ]
        return f"{self.weight:.0%} random forest of {self.trees} trees, by validation; {'; '.join(alone)}"


class Summary(_Json):
    """The result of a run: the best epoch by validation score, and all scores of that epoch.

    Where predictions are blended, valid and test are the scores of network and forest together.
    """

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
    blend: BlendSummary | None = None


class MetricScore(_Json):
    """A score by one metric: over all targets, and of each target if there are several."""

    score: float | None
    targets: dict[str, float | None] = {}


class RunScores(_Json):
    """The scores of each part at the best epoch, by metric."""

    parts: dict[str, dict[str, MetricScore]]


class Run:
    """A run directory, opened by :meth:`open` or created by :meth:`create`.

    Attributes:
        path: the directory.
        recipe: the resolved recipe.
        info: the rest of its record.
    """

    def __init__(self, path: Path, recipe: Recipe, info: RunInfo) -> None:
        self.path = path
        self.recipe = recipe
        self.info = info

    @classmethod
    def create(cls, path: Path, recipe: Recipe, info: RunInfo) -> "Run":
        """Create a run directory; ``run.json`` is written last, so that a directory with it also has the recipe."""
        write_text(path / "recipe.yaml", recipe_text(recipe, path))
        write_text(path / "run.json", info.model_dump_json(indent=1) + "\n")
        return cls(path, recipe, info)

    @classmethod
    def open(cls, path: str | Path) -> "Run":
        """Open a run directory; an error names the file that is missing or damaged."""
        folder = Path(path)
        if not folder.is_dir():
            raise InputError(f"{folder}: is not a run directory; expected one written by deepergcn train")
        file = folder / "run.json"
        if not file.exists() and (members := member_folders(folder)):
            raise InputError(
                f"{folder}: has several runs; expected one of them, such as {next(iter(members.values()))}"
            )
        form = read_json(file, _Format).format
        if form not in FORMATS:
            known = ", ".join(map(str, FORMATS))
            raise InputError(f"{file}: has format {form}; this version of deepergcn reads the formats {known}")
        info = read_json(file, RunInfo)
        file = folder / "recipe.yaml"
        recipe = own_data_absolute(read_recipe(_read(file), str(file)), folder)
        return cls(folder, as_read(recipe, info.format, info.provenance), info)

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

    def data_report(self) -> DataReport | None:
        """What was found in a user's own files; None if there is no report on them."""
        file = self.path / "data.json"
        return read_json(file, DataReport) if file.exists() else None

    def scores(self) -> RunScores | None:
        """All scores of a run on a user's own data; None where it has not ended."""
        file = self.path / "scores.json"
        return read_json(file, RunScores) if file.exists() else None

    def summary(self) -> Summary | None:
        """The result of the run; None if it has not finished."""
        file = self.path / "summary.json"
        return read_json(file, Summary) if file.exists() else None


def recipe_text(recipe: Recipe, folder: Path) -> str:
    """The ``recipe.yaml`` of a run directory."""
    return dump_recipe(own_data_relative(recipe, folder))


def read_rows(path: Path, columns: tuple[str, ...]) -> list[Row]:
    """Read a log of a run; None for an empty cell."""
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
        raise InputError(
            f"{path}: {place} cannot be read ({error}); expected one written by deepergcn train"
        ) from error
    return lines


def _read(path: Path) -> str:
    if path.exists() and not path.is_file():  # a pipe would wait for ever, and a device never end
        raise InputError(f"{path}: is not a regular file; expected a file written by deepergcn train")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read ({reason}); expected a file written by deepergcn train") from error


def read_json(path: Path, model: type[M]) -> M:
    """Read a JSON file as a ``model``; an error names the file and the first wrong value."""
    return parse_json(_read(path), model, str(path))


def parse_json(text: str, model: type[M], origin: str) -> M:
    """Parse JSON text as a ``model``; an error starts with ``origin`` and names the first wrong value."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the text"
        raise InputError(f"{origin}: {place}: {first['msg']}") from error
