"""How a table of nodes and a table of edges are read, in JSON values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deepergcn.data.tables.features import FeatureColumn
from deepergcn.data.tables.labels import LabelSchema
from deepergcn.data.task import Metric
from deepergcn.errors import InputError


@dataclass(frozen=True)
class TableSchema:
    """All that it takes to read tables of nodes and edges in the same way again."""

    id_column: str
    source_column: str
    target_column: str
    directed: bool
    features: tuple[FeatureColumn, ...]
    edge_features: tuple[FeatureColumn, ...]
    labels: LabelSchema
    metric: Metric | None

    def to_json(self) -> dict[str, Any]:
        """The schema as JSON values."""
        return {
            "reader": "tables",
            "id_column": self.id_column,
            "source_column": self.source_column,
            "target_column": self.target_column,
            "directed": self.directed,
            "features": [column.to_json() for column in self.features],
            "edge_features": [column.to_json() for column in self.edge_features],
            "labels": self.labels.to_json(),
            "metric": self.metric,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TableSchema":
        """The inverse of :meth:`to_json`."""
        if values.get("reader") != "tables":
            raise InputError("the schema is not that of tables of nodes and edges")
        fields = {name: value for name, value in values.items() if name != "reader"}
        fields["features"] = tuple(map(FeatureColumn.from_json, values["features"]))
        fields["edge_features"] = tuple(map(FeatureColumn.from_json, values["edge_features"]))
        fields["labels"] = LabelSchema.from_json(values["labels"])
        return cls(**fields)
