"""What differs between two recipes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from deepergcn.recipes.schema import Recipe

_PLACES = ("data.source", "data.nodes", "data.edges", "data.tables.")
"""The keys that say where the data lies."""


class Difference(NamedTuple):
    """A key of two recipes with both of its values."""

    key: str
    old: Any
    new: Any


def differences(old: Recipe, new: Recipe) -> list[Difference]:
    """The keys in which two recipes differ, apart from where the files of their data lie: these may have been moved."""
    one, other = _flat(old.model_dump(mode="json")), _flat(new.model_dump(mode="json"))
    pairs = [Difference(key, one.get(key), other.get(key)) for key in {**one, **other}]
    return [pair for pair in pairs if pair.old != pair.new and not _is_moved(pair)]


def _is_moved(pair: Difference) -> bool:
    return pair.key.startswith(_PLACES) and pair.old is not None and pair.new is not None


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
