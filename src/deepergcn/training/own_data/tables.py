"""A user's own tables of nodes and edges."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deepergcn.data.dataset import Dataset
from deepergcn.data.tables.columns import read_columns
from deepergcn.data.tables.read import read_tables, table_files
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection
from deepergcn.training.own_data.columns import own_split, split_columns, usable_features
from deepergcn.training.own_data.found import OwnData, label_settings, own_data

_NODES_IN_MEMORY = 50_000  # in one step


def own_tables(
    nodes: str | Path,
    edges: str | Path | None = None,
    *,
    label: str | Sequence[str],
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    split: str | None = None,
    directed: bool = False,
    root: str | Path | None = None,
) -> OwnData:
    """The settings that turn the recipe ``own-tables`` into one for these tables, and the dataset in them.

    As :func:`own_molecules`; in addition, a column of text with too many values to be a category is left out of the
    features, with a warning, and a graph too large for one step is cut into partitions.

    Args:
        nodes: The table of nodes; see :func:`deepergcn.data.read_tables` for this and the other arguments.
        edges: The table of edges.
        label: The label column of the nodes, or several.
        id_column: The column of ``nodes`` with a name for every node.
        source_column: The column of ``edges`` with the name of the node that each edge leaves.
        target_column: The column of ``edges`` with the name of the node that each edge enters.
        split: ``"random"``, or the column of ``nodes`` that says train, valid or test; where not given, the column
            "split" if there is one, else ``"random"``.
        directed: Whether an edge goes from source to target only.
        root: The folder of the cache.
    """
    labels = [label] if isinstance(label, str) else list(label)
    node_file, edge_file = table_files(nodes, edges)
    node_table, edge_table = read_columns(node_file), read_columns(edge_file)
    split = split or own_split(node_table, labels)
    named = [] if split == "random" else [split]
    options: dict[str, Any] = {
        "label": labels,
        "id_column": id_column,
        "source_column": source_column,
        "target_column": target_column,
        "features": usable_features(node_table, {id_column, *labels, *split_columns(node_table), *named}),
        "edge_features": usable_features(edge_table, {source_column, target_column}),
        "standardize": True,
        **({} if split == "random" else {"split_column": split}),
        **({"directed": True} if directed else {}),
    }
    dataset = read_tables(node_table, edge_table, root=root, **options)
    metric, found = label_settings(nodes, dataset, "nodes")
    data = DataSection(source=str(node_file.resolve()), edges=str(edge_file.resolve()), options=options | metric)
    others = {
        "data.transforms": _transforms(dataset),
        "training.partitions": math.ceil(dataset.num_nodes / _NODES_IN_MEMORY),
    }
    return own_data(data, dataset, found | others)


def _transforms(dataset: Dataset) -> list[str]:
    """Nodes without features have the sums of those of their edges."""
    if dataset.x is not None:
        return []
    if dataset.edge_attr is None:
        raise InputError(f"{dataset.name}: neither nodes nor edges have features; expected a column of them in one")
    return ["node-features-from-edges"]
