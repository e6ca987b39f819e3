"""The settings that tuning may change, and the values that it may give them."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from deepergcn.errors import InputError
from deepergcn.recipes.load import parse_yaml, validate
from deepergcn.recipes.schema import Recipe

if TYPE_CHECKING:
    import optuna

_FIXED = ("name", "summary", "data", "published", "evaluation", "training.epochs")
"""Keys that say what is learned and how it is scored: trials that differ in them cannot be compared."""


class Range(BaseModel):
    """Numbers between two bounds, both included.

    Attributes:
        low, high: the bounds; whole numbers make it a range of whole numbers.
        log: draw evenly in the logarithm.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    low: int | float
    high: int | float
    log: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> "Range":
        if not self.low < self.high:
            raise ValueError(f"expected low below high, got {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"expected low above 0 where log is true, got {self.low}")
        return self

    def draw(self, trial: "optuna.Trial", key: str) -> float | int:
        if isinstance(self.low, int) and isinstance(self.high, int):
            return trial.suggest_int(key, self.low, self.high, log=self.log)
        return trial.suggest_float(key, self.low, self.high, log=self.log)

    def edges(self) -> tuple[Any, ...]:
        return self.low, self.high


class Choice(BaseModel):
    """One of several values."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    values: tuple[Any, ...]

    def draw(self, trial: "optuna.Trial", key: str) -> Any:
        return json.loads(str(trial.suggest_categorical(key, [json.dumps(value) for value in self.values])))

    def edges(self) -> tuple[Any, ...]:
        return self.values


Space = Mapping[str, Range | Choice]
"""From a key of a recipe, such as ``optimizer.lr``, to its values."""


def default_space(recipe: Recipe) -> Space:
    """What is worth changing in any recipe: rates, sizes, depth and regularization."""
    depth = recipe.model.num_layers
    depths = sorted({3, 7, 14} | ({depth} if depth <= 28 else set()))
    return {
        "optimizer.lr": Range(low=3e-4, high=2e-2, log=True),
        "optimizer.weight_decay": Choice(values=(0.0, 1e-5, 1e-4, 1e-3)),
        "model.dropout": Range(low=0.0, high=0.6),
        "model.num_layers": Choice(values=tuple(depths)),
        "model.hidden_channels": Choice(values=(64, 128, 256)),
        "model.norm": Choice(values=("batch", "layer")),
        "training.average": Choice(values=(None, 0.99, 0.999)),
    }


def read_space(path: Path, recipe: Recipe) -> Space:
    """The space in a YAML file: a list of values for a key, or ``{low, high, log}``; checked against the recipe."""
    try:
        values = parse_yaml(path.read_text(encoding="utf-8"), f"{path}: is not YAML")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the space cannot be read ({error})") from error
    if not isinstance(values, dict) or not values:
        raise InputError(f"{path}: expected keys of a recipe with their values, such as model.dropout: [0, 0.2, 0.5]")
    space = {str(key): _entry(path, str(key), value) for key, value in values.items()}
    check_space(space, recipe, str(path))
    return space


def check_space(space: Space, recipe: Recipe, origin: str) -> None:
    """Check that every key may be changed, and that the recipe takes every value, or both ends of a range."""
    for key, values in space.items():
        if any(key == fixed or key.startswith(f"{fixed}.") for fixed in _FIXED):
            raise InputError(
                f"{origin}: {key} cannot be tuned, since trials with different values of it cannot be compared"
            )
        for value in values.edges():
            changed(recipe, {key: value}, origin)


def changed(recipe: Recipe, settings: Mapping[str, Any], origin: str) -> Recipe:
    """The recipe with some settings changed."""
    values = recipe.model_dump(mode="json")
    for key, value in settings.items():
        *sections, name = key.split(".")
        inner = values
        for section in sections:
            inner = inner.get(section, {}) if isinstance(inner.get(section, {}), dict) else {}
        if name not in inner:
            raise InputError(f"{origin}: {key} is not a key of a recipe")
        inner[name] = value
    return validate(values, origin)


def _entry(path: Path, key: str, value: Any) -> Range | Choice:
    if isinstance(value, list):
        if len(value) < 2 or any(isinstance(one, float) and not math.isfinite(one) for one in value):
            raise InputError(f"{path}: {key}: expected at least two finite values to choose from, got {value}")
        return Choice(values=tuple(value))
    try:
        return Range.model_validate(value)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise InputError(
            f"{path}: {key}: {reason}; expected a list of values, or low, high and optionally log"
        ) from error
