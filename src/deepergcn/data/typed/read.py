"""One graph from tables of nodes and edges of several types."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.provenance import AnyProvenance, TypedEdgeProvenance, TypedTableProvenance
from deepergcn.data.split import FRACTIONS, all_test, check_split
from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.data.tables.columns import Columns, as_names, other_columns
from deepergcn.data.tables.edges import both_directions, distinct_edges, end_numbers, node_ids
from deepergcn.data.tables.features import Unseen, infer_features, read_features
from deepergcn.data.tables.files import read_table, with_rows
from deepergcn.data.tables.labels import infer_labels, missing_labels, read_labels
from deepergcn.data.tables.parts import Split, check_choice, split_rows
from deepergcn.data.task import Kind, Metric, Task
from deepergcn.data.typed.dataset import EdgeType, TypedDataset, TypedEdges
from deepergcn.data.typed.names import (
    EdgeTables,
    NodeTables,
    check_types,
    edge_key,
    label_of,
    named_columns,
)
from deepergcn.errors import InputError


def read_typed_tables(
    nodes: NodeTables,
    edges: EdgeTables,
    *,
    label: str | Sequence[str],
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    directed: bool = False,
    features: Mapping[str, Sequence[str]] | None = None,
    numeric: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    standardize: bool = False,
    kind: Kind | None = None,
    metric: Metric | None = None,
    positive: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    split: Split = "random",
    split_column: str | Sequence[str] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    delimiter: str | None = None,
) -> TypedDataset:
    """Read a dataset of one graph from ``.csv``, ``.csv.gz`` or ``.parquet`` tables, one for every type.

    :func:`read_typed_tables_to_predict` reads other tables in the same way, with the ``provenance`` of this dataset.
    Nodes of a type without features have the number 1 as their only feature.

    Args:
        nodes: The table of nodes of every type.
        edges: The table of edges of every type, by ``"source type,relation,target type"`` or the three as a tuple.
            Repeated rows count once.
        label: The column to predict, as ``"type.column"``, or several of one type.
        id_column: The column of every table of nodes with the id of each node, unique within its type.
        source_column: The column of every table of edges with the id of the node that each edge leaves.
        target_column: The column of every table of edges with the id of the node that each edge enters.
        directed: Whether messages go from source to target only. Otherwise edges between nodes of one type count in
            both directions, and those between two types have a reverse type, whose relation begins with ``rev_``.
        features: The columns of features by node or edge type; by default all without another role.
        numeric: Features that must be numbers, as ``"type.column"``.
        categorical: Features to treat as categories although they are numbers or have many values, as
            ``"type.column"``.
        standardize: Whether to standardize numeric features with the mean and standard deviation of the train nodes
            (of all nodes of a type that is not predicted, and of all edges), and to fill gaps with the mean.
        kind: The kind of the task; by default inferred, see :func:`deepergcn.data.tables.labels.infer_labels`.
        metric: The metric; by default the first metric of the kind.
        positive: The positive class, or one for each label.
        missing: Values that mark a missing label.
        split: How to split the nodes with a label if there is no ``split_column``.
        split_column: The column with the values train, valid and test in the table with the label, or masks.
        fractions: The fractions of train, valid and test.
        seed: The seed of the split.
        delimiter: The delimiter between the cells of a text file; by default detected in each.
    """
    check_split(fractions, seed)
    check_choice(split)
    node_files, edge_files = check_types(nodes, edges)
    target, labels = label_of(label, tuple(node_files))
    _check_heard(target, tuple(edge_files), directed)
    node_tables = {name: with_rows(read_table(table, delimiter)) for name, table in node_files.items()}
    edge_tables = {edge_type: read_table(table, delimiter) for edge_type, table in edge_files.items()}
    predicted = node_tables[target]
    schema = infer_labels(predicted, labels, kind, positive=positive, missing=missing)
    y = read_labels(predicted, schema)
    parts = split_rows(predicted, y, split, split_column, fractions, seed)
    taken = {id_column, *labels, *as_names(split_column or ())}
    in_train = np.zeros(len(predicted), dtype=bool)
    in_train[parts["train"].numpy()] = True
    wanted = _wanted_features(features, node_tables, edge_tables)
    kinds = named_columns({"numeric": numeric, "categorical": categorical}, [*wanted])

    def inferred(key: str, table: Columns, others: set[str], rows: npt.NDArray[np.bool_] | None = None) -> Any:
        given = wanted[key]
        names = other_columns(table, others) if given is None else tuple(given)
        for option, columns in kinds[key].items():
            unknown = next((name for name in columns if name not in names), None)
            if unknown is not None:
                raise InputError(f"{option}: {unknown!r} is not a feature of {key}; its features: {', '.join(names)}")
        rows = np.ones(len(table), dtype=bool) if rows is None else rows
        return infer_features(table, names, standardize=rows if standardize else None, **kinds[key])

    provenance = TypedTableProvenance(
        id_column=id_column,
        source_column=source_column,
        target_column=target_column,
        directed=directed,
        delimiter=delimiter,
        target=target,
        nodes={
            name: inferred(name, table, taken if name == target else {id_column}, in_train if name == target else None)
            for name, table in node_tables.items()
        },
        edges=tuple(
            TypedEdgeProvenance(
                source=edge_type[0],
                relation=edge_type[1],
                target=edge_type[2],
                features=inferred(edge_key(edge_type), table, {source_column, target_column}) if len(table) else (),
            )
            for edge_type, table in edge_tables.items()
        ),
        labels=schema,
    )
    return _dataset(provenance, node_tables, edge_tables, schema.task("node", metric), y, parts)


def read_typed_tables_to_predict(
    nodes: NodeTables, edges: EdgeTables, *, provenance: AnyProvenance | None, unseen: Unseen = "error"
) -> TypedDataset:
    """Read other tables in the way of ``provenance``, without labels and with all nodes in the part ``test``."""
    if not isinstance(provenance, TypedTableProvenance):
        raise InputError("provenance: expected that of a dataset of typed tables")
    node_files, edge_files = check_types(nodes, edges)
    expected = [(edges.source, edges.relation, edges.target) for edges in provenance.edges]
    for what, found, known in (
        ("node type", [*node_files], [*provenance.nodes]),
        ("edge type", [*map(edge_key, edge_files)], [*map(edge_key, expected)]),
    ):
        for name in known:
            if name not in found:
                raise InputError(f"there is no table for the {what} {name!r}; the network was trained on {_all(known)}")
        for name in found:
            if name not in known:
                raise InputError(f"the {what} {name!r} is unknown; the network was trained on {_all(known)}")
    node_tables = {name: with_rows(read_table(node_files[name], provenance.delimiter)) for name in provenance.nodes}
    edge_tables = {edge_type: read_table(edge_files[edge_type], provenance.delimiter) for edge_type in expected}
    task, count = provenance.labels.task("node"), len(node_tables[provenance.target])
    return _dataset(provenance, node_tables, edge_tables, task, missing_labels(task, count), all_test(count), unseen)


def _dataset(
    provenance: TypedTableProvenance,
    nodes: Mapping[str, Columns],
    edges: Mapping[EdgeType, Columns],
    task: Task,
    y: Tensor,
    split: dict[str, Tensor],
    unseen: Unseen = "error",
) -> TypedDataset:
    ids = {name: node_ids(table, provenance.id_column) for name, table in nodes.items()}
    features = {name: _node_features(table, provenance.nodes[name], unseen) for name, table in nodes.items()}
    read: dict[EdgeType, TypedEdges] = {}
    for record in provenance.edges:
        edge_type = (record.source, record.relation, record.target)
        table = edges[edge_type]
        table.require([provenance.source_column, provenance.target_column], "edges")
        ends = np.stack(
            [
                end_numbers(table, column, ids[name], nodes[name].path)
                for column, name in (
                    (provenance.source_column, record.source),
                    (provenance.target_column, record.target),
                )
            ]
        )
        read |= _typed_edges(edge_type, ends, read_features(table, record.features, unseen), provenance.directed)
    target = provenance.target
    files = sorted([(name, table.path) for name, table in nodes.items()])
    files += sorted([(edge_key(edge_type), table.path) for edge_type, table in edges.items()])
    return TypedDataset(
        name=nodes[target].path.name,
        task=task,
        node_ptr=torch.tensor([0, len(nodes[target])]),
        edge_ptr=torch.tensor([0, 0]),
        edge_index=torch.empty(2, 0, dtype=torch.int64),
        symmetric=False,
        x=features[target],
        y=y,
        split=split,
        digest=text_digest(*((name, file_digest(path)) for name, path in files)),
        label_names=provenance.labels.names,
        ids=tuple(ids[target].to_pylist()),
        provenance=provenance,
        target=target,
        features=features,
        edges=read,
    )


def _typed_edges(
    edge_type: EdgeType, ends: npt.NDArray[np.int64], edge_attr: Tensor | None, directed: bool
) -> dict[EdgeType, TypedEdges]:
    """The distinct edges of a type; both ways within one type of nodes, and with a reverse type between two."""
    source, relation, target = edge_type
    both_ways = source == target and not directed
    kept = distinct_edges(np.sort(ends, axis=0) if both_ways else ends, edge_attr)
    edge_index = torch.from_numpy(ends[:, kept])
    edge_attr = None if edge_attr is None else edge_attr[kept]
    if both_ways:
        return {edge_type: TypedEdges(*both_directions(edge_index, edge_attr))}
    found = {edge_type: TypedEdges(edge_index, edge_attr)}
    if not directed:
        found[(target, f"rev_{relation}", source)] = TypedEdges(edge_index.flip(0).contiguous(), edge_attr)
    return found


def _node_features(table: Columns, columns: Sequence[Any], unseen: Unseen) -> Tensor:
    features = read_features(table, columns, unseen)
    return torch.ones(len(table), 1) if features is None else features


def _check_heard(target: str, edge_types: Sequence[EdgeType], directed: bool) -> None:
    """Check that messages reach the type that is predicted, and that reverse types have names of their own."""
    if directed and not any(edge_type[2] == target for edge_type in edge_types):
        raise InputError(
            f"directed: no type of edges enters {target!r}, so its nodes would receive no messages; leave directed out"
        )
    for source, relation, end in edge_types:
        reverse = (end, f"rev_{relation}", source)
        if not directed and source != end and reverse in edge_types:
            raise InputError(
                f"edges {edge_key(reverse)!r} have the same name as the reverse of "
                f"{edge_key((source, relation, end))!r}; leave one out, or use directed"
            )


def _wanted_features(
    features: Mapping[str, Sequence[str]] | None, nodes: Mapping[str, Columns], edges: Mapping[EdgeType, Columns]
) -> dict[str, Sequence[str] | None]:
    """The columns of features of every type; None for all that have no other role."""
    wanted: dict[str, Sequence[str] | None] = dict.fromkeys([*nodes, *map(edge_key, edges)])
    for key, names in (features or {}).items():
        if key not in wanted:
            raise InputError(f"features: there is no type {key!r}; the types are {_all([*wanted])}")
        wanted[key] = as_names(names)
    return wanted


def _all(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
