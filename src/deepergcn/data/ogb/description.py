"""The file ``dataset.json`` in OGB's layout, with the properties that the tables lack, so that nothing is guessed."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from deepergcn.data.ogb.known import Settings
from deepergcn.data.storage.source_files import read_bytes
from deepergcn.data.task import Kind, Level, Metric, Task
from deepergcn.errors import InputError

DESCRIPTION = "dataset.json"

Count = Annotated[int, Field(ge=1, lt=1 << 31)]


class _Task(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    level: Level
    kind: Kind
    outputs: Count
    metric: Metric

    @model_validator(mode="after")
    def _consistent(self) -> "_Task":
        self.task()
        return self

    def task(self) -> Task:
        return Task(self.level, self.kind, self.outputs, self.metric)


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    task: _Task | None = None
    symmetric: bool = True
    split: str | None = None
    x_categories: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    edge_categories: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    label_names: tuple[str, ...] = ()


class _File(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str | None = None
    settings: _Settings = _Settings()
    edge_features: Count | None = None
    node_extra: dict[str, Literal["int64", "float32"]] = Field(default_factory=dict)
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Description:
    """The name of a dataset, the settings of its layout, and facts that only this package writes.

    Args:
        name: the name of the dataset.
        settings: how the folder is read.
        edge_features: the number of edge features, which no file shows if there are no edges.
        node_extra: the dtype of each extra node column, ``int64`` or ``float32``.
        ids: the user's id of every item.
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
    """Read the file; an error names the first wrong value."""
    content = read_bytes(path)
    try:
        found = _File.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{path}: {place}: {first['msg'].removeprefix('Value error, ')}") from error
    fields = found.settings.model_dump()
    if found.settings.task is not None:
        fields["task"] = found.settings.task.task()
    return Description(
        name=path.parent.name if found.name is None else found.name,
        settings=Settings(**fields),
        edge_features=found.edge_features,
        node_extra=found.node_extra,
        ids=found.ids,
    )
