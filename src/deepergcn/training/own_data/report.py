"""The report on a user's own data, from the tables and the dataset that was made of them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.provenance import skipped_rows
from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.csv_file import DELIMITERS
from deepergcn.data.tables.features import FeatureColumn
from deepergcn.data.tables.kinds import column_kind
from deepergcn.data.tables.labels import LabelSchema
from deepergcn.data.tables.positive import is_meaningful
from deepergcn.data.task import Kind
from deepergcn.errors import quote
from deepergcn.runs.data_report import Column, DataReport, SplitReport, TargetReport
from deepergcn.training.own_data.cautions import Values, alike_ids, cautions
from deepergcn.training.own_data.choices import Choices
from deepergcn.training.own_data.found import LabelSettings
from deepergcn.training.own_data.split_choice import SplitChoice


def report_data(
    tables: Sequence[Columns],
    dataset: Dataset,
    schema: LabelSchema,
    split: SplitChoice,
    labels: LabelSettings,
    choices: Choices,
    learned: Sequence[FeatureColumn] = (),
    **others: Any,
) -> DataReport:
    """The report on these tables, the first of which has the labels.

    ``learned`` are the features of the first table; the others are fields of the report.
    """
    values = _values(dataset, schema)
    table = tables[0]
    delimiters = {DELIMITERS.get(t.delimiter, repr(t.delimiter)) for t in tables if t.delimiter not in (None, ",")}
    reasons = Counter(skipped.reason for skipped in skipped_rows(dataset.provenance))
    return DataReport(
        files=tuple(table.path.name for table in tables),
        rows=len(table),
        skipped=dict(reasons),
        delimiter=" and ".join(sorted(delimiters)) or None,
        task=schema.kind,
        targets=tuple(_target(table, schema, number, values[:, number], choices) for number in range(values.shape[1])),
        split=SplitReport(
            source=split.source,
            sizes={part: len(dataset.split[part]) for part in PARTS},
            classes={part: _counts(schema, 0, values[dataset.split[part].numpy(), 0]) for part in PARTS}
            if schema.classes
            else {},
            unused=int((~np.isnan(values)).any(1).sum()) - sum(_labelled(values, dataset, part) for part in PARTS),
        ),
        metrics=labels.metrics,
        metric_reason=labels.reason,
        balance=labels.balance and schema.kind != "regression",
        cautions=(
            *cautions(table, schema, values, choices.missing, learned),
            *(alike_ids(dataset.ids) if dataset.task.level == "node" else ()),
            *(f"{other.path.name} has no rows: nothing is learned from it" for other in tables[1:] if not len(other)),
        ),
        **others,
    )


def feature_columns(table: Columns | None, features: Sequence[FeatureColumn], of: str = "") -> list[Column]:
    """How columns of a table became features."""
    return [Column(name=f"{of}{column.name}", text=_feature(table, column)) for column in features]


def _feature(table: Columns | None, column: FeatureColumn) -> str:
    text = "number" if column.categories is None else f"category of {len(column.categories)}"
    if table is None:
        return text
    empty = table.labels if column.categories is None else table.text
    gaps = int(empty(column.name).null_count)
    filled = "filled with the mean" if column.categories is None else "in no category"
    return f"{text}, {gaps:,} gaps {filled}" if gaps else text


def _labelled(values: Values, dataset: Dataset, part: str) -> int:
    return int((~np.isnan(values[dataset.split[part].numpy()])).any(1).sum())


def _values(dataset: Dataset, schema: LabelSchema) -> Values:
    """The labels [items, columns], NaN where missing."""
    y = dataset.y
    if schema.kind == "multi-class":
        return y.double().masked_fill(y < 0, torch.nan)[:, None].numpy()
    found: Values = y.double().numpy()
    return found


def _target(table: Columns, schema: LabelSchema, number: int, values: Values, choices: Choices) -> TargetReport:
    name = schema.columns[number]
    known = values[~np.isnan(values)]
    kind: Kind = "binary" if schema.kind == "multi-label" else schema.kind
    held = table.without([name], schema.missing)
    reason = choices.kind_reason if choices.kind else f"since it holds {column_kind(held, name)[1]}"
    texts = table.text(name).filter(held.labels(name).is_null()).drop_null().unique().to_pylist()
    fields: dict[str, Any] = {"name": name, "kind": kind, "reason": reason, "missing": len(values) - len(known)}
    fields["missing_texts"] = tuple(map(quote, sorted(texts)))
    if not schema.classes:
        if len(known):
            fields |= {"lowest": known.min(), "highest": known.max(), "mean": known.mean()}
        return TargetReport(**fields)
    fields["classes"] = _counts(schema, number, values)
    if len(schema.classes[number]) == 2 and schema.kind != "multi-class":
        no, yes = schema.classes[number]
        why = "as given" if choices.positive else "by its meaning" if is_meaningful((no, yes)) else "the last in order"
        fields |= {
            "positive": yes,
            "positive_reason": f"{why}; change it with --positive" if why != "as given" else why,
        }
    return TargetReport(**fields)


def _counts(schema: LabelSchema, number: int, values: Values) -> dict[str, int]:
    return {name: int((values == code).sum()) for code, name in enumerate(schema.classes[number])}
