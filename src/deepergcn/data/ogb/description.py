"""The file ``dataset.json`` beside OGB's layout: what the tables leave open, so that nothing has to be guessed."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from deepergcn.data.ogb.known import Settings
from deepergcn.data.task import Task
from deepergcn.errors import InputError

DESCRIPTION = "dataset.json"


@dataclass(frozen=True, kw_only=True)
class Description:
    """A name, the settings of the layout, and what only a folder written by this package knows.

    Args:
        name: What the dataset is called.
        settings: How the folder is read.
        edge_features: The number of edge features, which no file shows when there is no edge.
        node_extra: Whether each further column of the nodes is ``int64`` or ``float32``.
        ids: The user's own name for every item.
    """

    name: str
    settings: Settings
    edge_features: int | None = None
    node_extra: Mapping[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()

    def with_settings(self, **changes: Any) -> "Description":
        """A copy with some settings changed."""
        return replace(self, settings=replace(self.settings, **changes))


def write_description(path: Path, description: Description) -> None:
    """Write the file."""
    path.write_text(json.dumps(asdict(description), indent=1) + "\n", encoding="utf-8")


def read_description(path: Path) -> Description:
    """Read the file; an error names what in it is not as expected."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not readable JSON ({error})") from error
    _expect(path, "the file", value, dict)
    name = value.get("name", path.parent.name)
    settings = value.get("settings", {})
    edge_features = value.get("edge_features")
    node_extra = value.get("node_extra", {})
    ids = value.get("ids", [])
    _expect(path, "name", name, str)
    _expect(path, "settings", settings, dict)
    _expect(path, "edge_features", edge_features, int | None)
    _expect(path, "node_extra", node_extra, dict)
    _expect_list(path, "ids", ids, str)
    if not set(node_extra.values()) <= {"int64", "float32"}:
        raise InputError(f"{path}: node_extra is {node_extra}; expected int64 or float32 for each name")
    return Description(
        name=name,
        settings=_settings(path, settings),
        edge_features=edge_features,
        node_extra=node_extra,
        ids=tuple(ids),
    )


def _settings(path: Path, value: dict[str, Any]) -> Settings:
    unknown = set(value) - set(Settings.__dataclass_fields__)
    if unknown:
        raise InputError(f"{path}: settings has {', '.join(sorted(unknown))}, which is not a setting")
    fields = dict(value)
    _expect(path, "symmetric", fields.get("symmetric", True), bool)
    _expect(path, "split", fields.get("split"), str | None)
    for name, kind in (("x_categories", int), ("edge_categories", int), ("label_names", str)):
        if fields.get(name) is not None:
            _expect_list(path, name, fields[name], kind)
            fields[name] = tuple(fields[name])
    if fields.get("task") is not None:
        _expect(path, "task", fields["task"], dict)
        try:
            fields["task"] = Task(**fields["task"])
        except TypeError as error:
            expected = ", ".join(Task.__dataclass_fields__)
            raise InputError(f"{path}: task is {fields['task']}; expected {expected}") from error
    return Settings(**fields)


def _expect(path: Path, name: str, value: Any, kind: Any) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{path}: {name} is {value!r}; expected {getattr(kind, '__name__', kind)}")


def _expect_list(path: Path, name: str, value: Any, kind: type) -> None:
    if not isinstance(value, list) or not all(isinstance(entry, kind) for entry in value):
        raise InputError(f"{path}: {name} is not a list of {kind.__name__}")
