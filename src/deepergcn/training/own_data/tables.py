"""A user's own tables of nodes and edges."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from deepergcn.data.dataset import Dataset
from deepergcn.data.provenance import TableProvenance
from deepergcn.data.registry import NOT_DESCRIBED, checked_options
from deepergcn.data.tables.columns import Columns, read_columns
from deepergcn.data.tables.labels import infer_labels
from deepergcn.data.tables.parts import Split
from deepergcn.data.tables.read import read_tables, table_files
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection
from deepergcn.runs.data_report import Column, GraphReport
from deepergcn.training.own_data.choices import Choices
from deepergcn.training.own_data.columns import choose_split, named_columns, split_columns, usable_features
from deepergcn.training.own_data.found import OwnData, label_settings, own_data
from deepergcn.training.own_data.report import feature_columns, report_data
from deepergcn.user_cache import real_path

_NODES_IN_MEMORY = 50_000  # in one step


def own_tables(
    nodes: str | Path | Columns,
    edges: str | Path | Columns | None = None,
    *,
    label: str | Sequence[str],
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    directed: bool = False,
    choices: Choices = Choices(),  # noqa: B008 (it is frozen)
    root: str | Path | None = None,
) -> OwnData:
    """The settings that turn the recipe ``own-tables`` into one for these tables, the dataset in them, and a report.

    As :func:`deepergcn.training.own_data.own_molecules`; in addition, columns that look like ids or dates, or have too
    many texts to be a category, are left out of the features, and a graph too large for one step is cut into
    partitions.

    Args:
        nodes: The table of nodes; see :func:`deepergcn.data.read_tables` for this and the other arguments. Tables that
            have been read already may be given as columns.
        edges: The table of edges.
        label: The label column of the nodes, or several.
        id_column: The column of ``nodes`` with a name for every node.
        source_column: The column of ``edges`` with the name of the node that each edge leaves.
        target_column: The column of ``edges`` with the name of the node that each edge enters.
        features: The columns of ``nodes`` that are features, and no others.
        edge_features: The columns of ``edges`` that are features, and no others.
        drop: Columns of either table that are no features.
        numeric: Features of either table that must be numbers.
        categorical: Features of either table that are categories, whatever they look like.
        directed: Whether an edge goes from source to target only.
        choices: What is said instead of inferred.
        root: The folder of the cache.
    """
    further = choices.options
    delimiter = further.get("delimiter", choices.delimiter)
    if isinstance(nodes, Columns) and isinstance(edges, Columns):
        node_table, edge_table = nodes, edges
    else:
        files = table_files(
            nodes.path if isinstance(nodes, Columns) else nodes, edges.path if isinstance(edges, Columns) else edges
        )
        node_table, edge_table = (read_columns(file, delimiter) for file in files)
    labels = named_columns(node_table, [label] if isinstance(label, str) else list(label))
    schema = infer_labels(
        node_table, labels, choices.kind, positive=tuple(choices.positive), missing=tuple(choices.missing)
    )
    split = choose_split(node_table, labels, choices, schema.kind, get_args(Split))
    id_column, source_column, target_column = (
        further.get(name, value)
        for name, value in (
            ("id_column", id_column),
            ("source_column", source_column),
            ("target_column", target_column),
        )
    )
    taken = {id_column, *labels, *split_columns(node_table), *split.columns}
    said = (*numeric, *categorical)
    in_nodes, in_edges = ([name for name in drop if name in table.names] for table in (node_table, edge_table))
    _check_dropped(drop, in_nodes, in_edges, node_table)
    used, dropped = usable_features(node_table, taken, features, in_nodes, said)
    edges_taken = {source_column, target_column}
    edges_used, edges_dropped = usable_features(edge_table, edges_taken, edge_features, in_edges, said)
    options: dict[str, Any] = {
        "label": labels,
        "id_column": id_column,
        "source_column": source_column,
        "target_column": target_column,
        "features": used,
        "edge_features": edges_used,
        "standardize": True,
        "kind": schema.kind,
        **({"positive": [pair[1] for pair in schema.classes]} if schema.kind in ("binary", "multi-label") else {}),
        **({"numeric": list(numeric)} if numeric else {}),
        **({"categorical": list(categorical)} if categorical else {}),
        **({"directed": True} if directed else {}),
    }
    options |= choices.reader_options() | split.options | dict(further)
    checked = checked_options(str(node_table.path), read_tables, options, without=NOT_DESCRIBED)
    dataset = read_tables(node_table, edge_table, root=root, **checked)
    found = label_settings(node_table, dataset, choices, "nodes")
    partitions = math.ceil(dataset.num_nodes / _NODES_IN_MEMORY)
    provenance = dataset.provenance
    assert isinstance(provenance, TableProvenance)
    of_edges = [Column(name=f"edge {column.name}", text=column.text) for column in edges_dropped]
    report = report_data(
        [node_table, edge_table],
        dataset,
        provenance.labels,
        split,
        found,
        choices,
        features=(*feature_columns(provenance.features), *feature_columns(provenance.edge_features, "edge ")),
        dropped=(*dropped, *of_edges),
        graph=_graph(dataset, provenance, partitions),
    )
    source, target = (str(real_path(table.path)) for table in (node_table, edge_table))
    data = DataSection(source=source, edges=target, options={**options, "metric": found.metrics[0]})
    others = {"data.transforms": _transforms(dataset), "training.partitions": partitions}
    return own_data(data, dataset, found.settings | others, report)


def _graph(dataset: Dataset, provenance: TableProvenance, partitions: int) -> GraphReport:
    assert provenance.counts is not None
    ends = dataset.edge_index
    touched = len(ends[:, ends[0] != ends[1]].unique())
    return GraphReport(
        nodes=dataset.num_nodes,
        isolated=dataset.num_nodes - touched,
        edges=provenance.counts,
        directed=provenance.directed,
        partitions=partitions,
        edges_seen=1 / partitions,  # both ends of an edge are in the same random part
    )


def _transforms(dataset: Dataset) -> list[str]:
    """Nodes without features have the sums of those of their edges."""
    if dataset.x is not None:
        return []
    if dataset.edge_attr is None:
        raise InputError(f"{dataset.name}: neither nodes nor edges have features; expected a column of them in one")
    return ["node-features-from-edges"]


def _check_dropped(drop: Sequence[str], in_nodes: list[str], in_edges: list[str], table: Columns) -> None:
    for name in drop:
        if name not in (*in_nodes, *in_edges):
            table.require([name], "columns to leave out")
