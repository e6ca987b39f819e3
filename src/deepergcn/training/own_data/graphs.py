"""A user's own graphs, each with a label."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from deepergcn.data.dataset import Dataset
from deepergcn.data.graphs.read import LABELS, read_graphs
from deepergcn.data.provenance import ArrayFeatures, GraphProvenance
from deepergcn.data.registry import NOT_DESCRIBED, checked_options
from deepergcn.data.tables.columns import read_columns
from deepergcn.data.tables.labels import infer_labels
from deepergcn.data.tables.parts import Split
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection
from deepergcn.runs.data_report import Column
from deepergcn.training.own_data.choices import Choices
from deepergcn.training.own_data.columns import named_columns
from deepergcn.training.own_data.found import OwnData, label_settings, own_data
from deepergcn.training.own_data.molecules import training_length
from deepergcn.training.own_data.report import report_data
from deepergcn.training.own_data.split_choice import choose_split
from deepergcn.user_cache import real_path


def own_graphs(
    folder: str | Path,
    *,
    label: str | Sequence[str],
    id_column: str | None = None,
    choices: Choices = Choices(),  # noqa: B008 (it is frozen)
) -> OwnData:
    """The settings that turn the recipe ``own-graphs`` into one for these graphs, the dataset of them, and a report.

    As :func:`deepergcn.training.own_data.own_molecules`.

    Args:
        folder: The folder; see :func:`deepergcn.data.graphs.read.read_graphs` for this and the other arguments.
        label: The label column of the graphs, or several.
        id_column: The column of names for the graphs.
        choices: What the user chooses instead of having it inferred.
    """
    path = Path(folder)
    table = read_columns(path / LABELS)
    labels = named_columns(table, [label] if isinstance(label, str) else list(label), [id_column or ""])
    schema = infer_labels(table, labels, choices.kind, positive=tuple(choices.positive), missing=tuple(choices.missing))
    split = choose_split(table, labels, choices, schema.kind, get_args(Split))
    options: dict[str, Any] = {
        "label": labels,
        "standardize": True,
        "kind": schema.kind,
        **({} if id_column is None else {"id_column": id_column}),
        **({"positive": [pair[1] for pair in schema.classes]} if schema.kind in ("binary", "multi-label") else {}),
    }
    options |= choices.reader_options() | split.options | dict(choices.options)
    dataset = read_graphs(path, **checked_options(str(path), read_graphs, options, without=NOT_DESCRIBED))
    found = label_settings(table, dataset, choices, "graphs")
    provenance = dataset.provenance
    assert isinstance(provenance, GraphProvenance)
    report = report_data([table], dataset, schema, split, found, choices, features=_features(provenance))
    data = DataSection(source=str(real_path(path)), options={**options, "metric": found.metrics[0]})
    others = {"data.transforms": _transforms(dataset), **training_length(len(dataset.split["train"]))}
    return own_data(data, dataset, found.settings | others, report)


def _features(provenance: GraphProvenance) -> tuple[Column, ...]:
    return tuple(
        Column(name=name, text=_described(features))
        for name, features in (("x", provenance.nodes), ("edge_attr", provenance.edges))
        if features is not None
    )


def _described(features: ArrayFeatures) -> str:
    if features.categories is None:
        return f"{features.width} numbers"
    return f"integers: categories of {', '.join(map(str, features.categories))}"


def _transforms(dataset: Dataset) -> list[str]:
    """Nodes without features have the sums of those of their edges."""
    if dataset.x is not None:
        return []
    if dataset.edge_attr is None or dataset.edge_categories is not None:
        raise InputError("graphs: nodes have no features x; expected some, such as the degree of every node")
    return ["node-features-from-edges"]
