"""A user's own tables of nodes and edges of several types."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from deepergcn.data.provenance import TypedTableProvenance
from deepergcn.data.registry import NOT_DESCRIBED, checked_options
from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.files import read_table
from deepergcn.data.tables.labels import infer_labels
from deepergcn.data.tables.parts import Split
from deepergcn.data.typed.dataset import EdgeType, TypedDataset
from deepergcn.data.typed.names import EdgeTables, NodeTables, check_types, edge_key, label_of
from deepergcn.data.typed.read import read_typed_tables
from deepergcn.recipes.schema import DataSection, TypedTables
from deepergcn.runs.data_report import Column
from deepergcn.training.own_data.choices import Choices
from deepergcn.training.own_data.columns import usable_features
from deepergcn.training.own_data.found import OwnData, label_settings, own_data
from deepergcn.training.own_data.report import feature_columns, report_data
from deepergcn.training.own_data.split_choice import choose_split, split_columns


def own_typed_tables(
    nodes: NodeTables,
    edges: EdgeTables,
    *,
    label: str | Sequence[str],
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    directed: bool = False,
    choices: Choices = Choices(),  # noqa: B008 (it is frozen)
) -> OwnData:
    """The settings that turn the recipe ``own-typed-tables`` into one for these tables, and the dataset in them.

    As :func:`own_tables`; the graph is not cut into partitions.

    Args:
        nodes: The table of nodes of every type; see :func:`deepergcn.data.read_typed_tables` for all arguments.
        edges: The table of edges of every type, by ``"source type,relation,target type"``.
        label: The column to learn, as ``"type.column"``, or several of one type.
        id_column: The column of every table of nodes with a name for each node.
        source_column: The column of every table of edges with the name of the node that each edge leaves.
        target_column: The column of every table of edges with the name of the node that each edge enters.
        directed: Whether messages go from source to target only.
        choices: What the user chooses instead of having it inferred.
    """
    labels = [label] if isinstance(label, str) else list(label)
    node_files, edge_files = check_types(nodes, edges)
    delimiter = choices.options.get("delimiter", choices.delimiter)
    node_tables = {name: read_table(table, delimiter) for name, table in node_files.items()}
    edge_tables = {edge_type: read_table(table, delimiter) for edge_type, table in edge_files.items()}
    labels = _label_names(labels, node_tables)
    target, columns = label_of(labels, tuple(node_files))
    predicted = node_tables[target]
    positive, missing = tuple(choices.positive), tuple(choices.missing)
    schema = infer_labels(predicted, columns, choices.kind, positive=positive, missing=missing)
    split = choose_split(predicted, columns, choices, schema.kind, get_args(Split))
    by_column = split.options.get("split_column", [])
    parts = [by_column] if isinstance(by_column, str) else by_column
    taken = {*columns, *parts}
    found_in = {
        name: _features(name, table, {id_column, *(taken if name == target else ())})
        for name, table in node_tables.items()
    }
    found_in |= {
        edge_key(edge_type): _features(edge_key(edge_type), table, {source_column, target_column})
        for edge_type, table in edge_tables.items()
    }
    features = {name: used for name, (used, _) in found_in.items()}
    options: dict[str, Any] = {
        "label": labels,
        "id_column": id_column,
        "source_column": source_column,
        "target_column": target_column,
        "features": features,
        "standardize": True,
        "kind": schema.kind,
        **({"positive": [pair[1] for pair in schema.classes]} if schema.kind in ("binary", "multi-label") else {}),
        **({"directed": True} if directed else {}),
    }
    options |= choices.reader_options() | split.options | dict(choices.options)
    checked = checked_options("typed tables", read_typed_tables, options, without=NOT_DESCRIBED)
    dataset = read_typed_tables(node_tables, edge_tables, **checked)
    found = label_settings(predicted, dataset, choices, "nodes")
    provenance = dataset.provenance
    assert isinstance(provenance, TypedTableProvenance)
    read = dict(provenance.nodes)
    read |= {",".join((e.source, e.relation, e.target)): e.features for e in provenance.edges}
    tables_by_name = node_tables | {edge_key(edge_type): table for edge_type, table in edge_tables.items()}
    report = report_data(
        [predicted, *(t for t in (*node_tables.values(), *edge_tables.values()) if t is not predicted)],
        dataset,
        schema,
        split,
        found,
        choices,
        features=tuple(
            column for name in features for column in feature_columns(tables_by_name[name], read[name], f"{name}.")
        ),
        dropped=tuple(column for _, dropped in found_in.values() for column in dropped),
        notes=_notes(node_tables, edge_tables, features, dataset),
    )
    tables = TypedTables(
        nodes={name: str(table.path.resolve()) for name, table in node_tables.items()},
        edges={edge_key(edge_type): str(table.path.resolve()) for edge_type, table in edge_tables.items()},
    )
    data = DataSection(source=tables.nodes[target], tables=tables, options={**options, "metric": found.metrics[0]})
    return own_data(data, dataset, found.settings, report)


def _label_names(names: Sequence[str], tables: Mapping[str, Columns]) -> list[str]:
    """The labels, one by one or separated by commas, unless a column has commas in its name."""
    columns = {f"{one}.{column}" for one, table in tables.items() for column in table.names}
    split = ([name] if name in columns else [part.strip() for part in name.split(",")] for name in names)
    return [name for found in split for name in found if name]


def _features(name: str, table: Columns, taken: set[str]) -> tuple[list[str], list[Column]]:
    """The columns of a table that are features, and those that are not, with the reason."""
    if not len(table):
        return [], []
    splits = [column for column in split_columns(table) if column not in taken]
    used, dropped = usable_features(table, {*taken, *splits})
    dropped += [Column(name=column, text="parts of another split") for column in splits]
    return used, [Column(name=f"{name}.{column.name}", text=column.text) for column in dropped]


def _notes(
    nodes: Mapping[str, Columns],
    edges: Mapping[EdgeType, Columns],
    features: Mapping[str, list[str]],
    dataset: TypedDataset,
) -> tuple[str, ...]:
    sizes = [f"{len(table):,} nodes of the type {name}" for name, table in nodes.items()]
    sizes += [f"{len(table):,} edges of the type {edge_key(edge_type)}" for edge_type, table in edges.items()]
    without = (name for name in nodes if not features[name])
    bare = [f"node type {name!r} has no features: each of its nodes gets the number 1" for name in without]
    reverse = ", ".join(edge_key(edge_type) for edge_type in dataset.edges if edge_type not in edges)
    back = (
        [f"messages also pass in reverse, over the edge types {reverse}; --directed turns this off"] if reverse else []
    )
    return "; ".join(sizes), *bare, *back
