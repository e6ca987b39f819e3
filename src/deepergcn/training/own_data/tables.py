"""A user's own tables of nodes and edges."""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

from deepergcn.data.batching.known_labels import KNOWN_LABELS
from deepergcn.data.dataset import Dataset
from deepergcn.data.provenance import TableProvenance
from deepergcn.data.registry import NOT_DESCRIBED, checked_options
from deepergcn.data.tables.columns import Columns, read_columns
from deepergcn.data.tables.files import table_files
from deepergcn.data.tables.labels import infer_labels
from deepergcn.data.tables.parts import Split
from deepergcn.data.tables.read import read_tables
from deepergcn.data.tables.sparse import SparseFeatures
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection
from deepergcn.runs.data_report import Column, GraphReport
from deepergcn.training.own_data.choices import Choices
from deepergcn.training.own_data.columns import default_column, named_columns, usable_features
from deepergcn.training.own_data.direction import check_direction
from deepergcn.training.own_data.found import OwnData, label_settings, own_data
from deepergcn.training.own_data.report import feature_columns, report_data
from deepergcn.training.own_data.split_choice import choose_split, split_columns
from deepergcn.user_cache import real_path

ENCODINGS = {
    "degree": "degree-encoding",
    "random-walk": "random-walk",
    "learned": "learned-encoding",
    "edges": "node-features-from-edges",
}
"""Every encoding of nodes by the structure of their graph, and its transform."""

_TEXTS = {
    "degree": "its degree",
    "random-walk": "the return probabilities of random walks",
    "learned": "a learned embedding: only these nodes can be predicted",
    "edges": "the sums of its edges' features",
}
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
    sparse: str | Path | None = None,
    projection: int | None = None,
    encoding: str | None = None,
    known_labels: bool = False,
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
        sparse: A file of sparse node features.
        projection: The channels that they are projected to; 0 is none.
        encoding: One of :data:`ENCODINGS`, made of the graph's structure: added to the features of nodes, or in their
            place where they have none. Nodes without features have the sums of those of their edges, or their degree.
        known_labels: Whether the network is given the labels of train nodes as inputs, and learns from those that a
            step hides.
        choices: What the user chooses instead of having it inferred.
        root: The folder of the cache.
    """
    if encoding is not None and encoding not in ENCODINGS:
        raise InputError(f"encoding is {encoding!r}; expected one of {', '.join(ENCODINGS)}")
    if projection is not None and sparse is None:
        raise InputError("--projection: applies to sparse features; expected --node-features with it")
    further = choices.options
    delimiter = further.get("delimiter", choices.delimiter)
    if isinstance(nodes, Columns) and isinstance(edges, Columns):
        node_table, edge_table = nodes, edges
    else:
        node_table, edge_table = (read_columns(file, delimiter) for file in table_files(nodes, edges))
    labels = named_columns(node_table, [label] if isinstance(label, str) else list(label))
    schema = infer_labels(
        node_table, labels, choices.kind, positive=tuple(choices.positive), missing=tuple(choices.missing)
    )
    split = choose_split(node_table, labels, choices, schema.kind, get_args(Split))
    id_column, source_column, target_column = (
        further.get(name, default_column(table, value))
        for table, name, value in (
            (node_table, "id_column", id_column),
            (edge_table, "source_column", source_column),
            (edge_table, "target_column", target_column),
        )
    )
    taken = {id_column, *labels, *split_columns(node_table), *split.columns}
    said = (*numeric, *categorical)
    in_nodes, in_edges = ([name for name in drop if name in table.names] for table in (node_table, edge_table))
    _check_dropped(drop, in_nodes, in_edges, node_table)
    used, dropped = usable_features(node_table, taken, features, in_nodes, said)
    said_twice = check_direction(edge_table, directed, (*in_edges, *(edge_features or ())))
    edges_taken = {source_column, target_column, *(column.name for column in said_twice)}
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
        **({"sparse": str(real_path(sparse))} if sparse is not None else {}),
        **({"projection": projection} if projection is not None else {}),
        **({"same_nodes": True} if encoding == "learned" else {}),
    }
    options |= choices.reader_options() | split.options | dict(further)
    checked = checked_options(str(node_table.path), read_tables, options, without=NOT_DESCRIBED)
    read = partial(read_tables, node_table, edge_table, root=root)
    dataset = read(**checked)
    found = label_settings(
        node_table, dataset, choices, "nodes", lambda number: read(**checked | {"fold": [number, choices.folds]})
    )
    partitions = math.ceil(dataset.num_nodes / _NODES_IN_MEMORY)
    if known_labels and encoding == "learned":
        raise InputError("--known-labels: cannot be combined with --encoding learned, whose features are categories")
    transforms, reason = _encoding(dataset, encoding)
    provenance = dataset.provenance
    assert isinstance(provenance, TableProvenance)
    left_out = (*edges_dropped, *said_twice)
    of_edges = [Column(name=f"edge {column.name or repr('')}", text=column.text) for column in left_out]
    report = report_data(
        [node_table, edge_table],
        dataset,
        provenance.labels,
        split,
        found,
        choices,
        learned=provenance.features,
        features=(
            *feature_columns(node_table, provenance.features),
            *feature_columns(edge_table, provenance.edge_features, "edge "),
            *([] if provenance.sparse is None else [_sparse(options["sparse"], provenance.sparse, projection)]),
        ),
        encoding=reason,
        known_labels=known_labels,
        dropped=(*dropped, *of_edges),
        graph=_graph(dataset, provenance, partitions),
    )
    source, target = (str(real_path(table.path)) for table in (node_table, edge_table))
    data = DataSection(source=source, edges=target, options={**options, "metric": found.metrics[0]})
    transforms += [KNOWN_LABELS] if known_labels else []
    others = {"data.transforms": transforms, "training.partitions": partitions}
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


def _encoding(dataset: Dataset, said: str | None) -> tuple[list[str], str]:
    """The transform that gives nodes their features, if one is needed or chosen, and the reason."""
    if said is not None:
        if said == "learned" and dataset.x is not None:
            raise InputError(f"--encoding learned: the nodes of {dataset.name} have features; expected none")
        there = "none in the tables" if dataset.x is None else "those in the tables"
        return [ENCODINGS[said]], f"{there}, and for every node {_TEXTS[said]} (as given)"
    if dataset.x is not None:
        return [], ""
    chosen = "degree" if dataset.edge_attr is None else "edges"
    others = " | ".join(
        name for name in ENCODINGS if name != chosen and (name != "edges" or dataset.edge_attr is not None)
    )
    why = "which new nodes have too" if chosen == "degree" else "since edges have features"
    return [ENCODINGS[chosen]], f"none in the tables; every node has {_TEXTS[chosen]}, {why} (or --encoding {others})"


def _sparse(path: str, how: SparseFeatures, projection: int | None) -> Column:
    text = f"{how.width:,} sparse features"
    if how.projection:
        why = (
            "as given" if projection else "since they would take more than 2 GB; --projection 0 keeps them as they are"
        )
        text += f", projected at random to {how.projection} channels {why}"
    return Column(name=Path(path).name, text=text)


def _check_dropped(drop: Sequence[str], in_nodes: list[str], in_edges: list[str], table: Columns) -> None:
    for name in drop:
        if name not in (*in_nodes, *in_edges):
            table.require([name], "columns to leave out")
