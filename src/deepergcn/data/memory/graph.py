"""One graph in memory as tables of nodes and edges: of PyTorch Geometric, of networkx, or two data frames."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch_geometric.data import Data

from deepergcn.data.memory.frames import (
    arrow_array,
    check_order,
    frame_table,
    is_frame,
    is_values,
    numbered_columns,
    value_columns,
)
from deepergcn.errors import InputError

_INDICES = ("train_idx", "train_index", "val_idx", "test_idx")
_MASKS = ("train_mask", "val_mask", "valid_mask", "test_mask")


class GraphTables(NamedTuple):
    """A graph as two tables.

    Attributes:
        nodes: The Arrow table of nodes.
        edges: The Arrow table of edges.
        directed: Whether edges go from source to target only; None where the graph does not say.
        labels: The label columns of the nodes.
        numbered: Whether the labels are numbers of classes, as those of PyTorch Geometric are where they are integers.
    """

    nodes: Any
    edges: Any
    directed: bool | None = None
    labels: tuple[str, ...] = ()
    numbered: bool = False


class Names(NamedTuple):
    """The names of the columns of ids and of the ends of edges."""

    id: str = "id"
    source: str = "source"
    target: str = "target"


_FEATURES = ("x", "edge_attr", "edge_weight")  # in which NaN is no gap, as it is in a data frame


def is_graph(data: object) -> bool:
    """Whether this is a graph of PyTorch Geometric or networkx, or a pair of data frames."""
    if isinstance(data, Data) or _is_networkx(data):
        return True
    return isinstance(data, tuple | list) and len(data) == 2 and all(map(is_frame, data))


def graph_tables(graph: Any, label: Any = None, names: Names = Names()) -> GraphTables:  # noqa: B008 (it is a tuple)
    """The tables of a graph.

    Args:
        graph: ``Data`` of PyTorch Geometric: ``x``, ``edge_attr`` and ``edge_weight`` are features, and ``train_mask``
            and its like say the split. A graph of networkx: the attributes of nodes and edges are columns, and one that
            holds lists of numbers is several. Or a data frame of nodes and one of edges; the index of the first holds
            the ids where no column does.
        label: What to learn of the nodes: names of columns or attributes, or values for every node, in their order or
            by id.
        names: The columns of ids and of the ends of edges.
    """
    if isinstance(graph, Data):
        tables = _of_pyg(graph, label, names)
    elif _is_networkx(graph):
        tables = _of_networkx(graph, names)
    elif is_graph(graph):
        nodes, edges = graph
        check_order(nodes, label, "label")
        tables = GraphTables(frame_table(nodes, "nodes", index=names.id), frame_table(edges, "edges"))
    else:
        raise InputError(
            f"graph: is of type {type(graph).__name__}; expected Data of PyTorch Geometric, a graph of networkx, or a "
            "data frame of nodes and one of edges"
        )
    return tables if label is None or tables.labels else _with_label(tables, label, names)


def _with_label(tables: GraphTables, label: Any, names: Names) -> GraphTables:
    if not is_values(label):
        return tables._replace(labels=(label,) if isinstance(label, str) else tuple(label))
    nodes = tables.nodes
    if isinstance(label, Mapping):
        known = {str(key): value for key, value in label.items()}
        ids = [str(cell) for cell in nodes.column(names.id).to_pylist()] if names.id in nodes.column_names else []
        there = set(ids)
        if (strange := next((key for key in known if key not in there), None)) is not None:
            raise InputError(f"label: {strange!r} is not the id of a node")
        columns = {"label": arrow_array([known.get(key) for key in ids])}
    else:
        columns = value_columns(label, "label", len(nodes), "label")
    for name, cells in columns.items():
        if name in nodes.column_names:
            raise InputError(
                f"label: the nodes already have a column {name!r}; expected that name, or values with another name"
            )
        nodes = nodes.append_column(name, cells)
    return tables._replace(nodes=nodes, labels=tuple(columns), numbered=tables.numbered and is_integer(label))


def _of_pyg(data: Data, label: Any, names: Names) -> GraphTables:
    edge_index, count = data.edge_index, data.num_nodes
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or len(edge_index) != 2:
        found = (
            f"edge_index has shape {list(edge_index.shape)}" if isinstance(edge_index, Tensor) else "has no edge_index"
        )
        raise InputError(f"graph: {found}; expected edge_index, a tensor [2, edges]")
    if (stray := next((name for name in _INDICES if name in data), None)) and not any(name in data for name in _MASKS):
        raise InputError(
            f"graph: has {stray}, but no masks; expected masks such as train_mask, or split=... made of {stray}"
        )
    if not count:
        raise InputError("graph: has no nodes")
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < count:
        raise InputError(
            f"graph: edge_index has nodes {int(edge_index.min())} to {int(edge_index.max())}; expected 0 to {count - 1}"
        )
    columns: dict[str, Any] = {names.id: pa.array(np.arange(count))}
    label = "y" if label is None and data.y is not None else label
    said = [] if label is None or is_values(label) else [label] if isinstance(label, str) else list(label)
    labels: dict[str, Any] = {}
    for name in said:
        labels |= _columns(data.get(name), name, count, "nodes")
    for name in ("x", *(mask for mask in _MASKS if mask in data)):
        if data.get(name) is not None and name not in said:
            columns |= _columns(data[name], name, count, "nodes")
    if several := next((name for name in columns if name.rpartition("_")[0] in _MASKS), None):
        mask = several.rpartition("_")[0]
        raise InputError(f"graph: {mask} has several columns; expected one split, such as data.{mask}[:, 0]")
    numbered = bool(said) and all(is_integer(data[name]) for name in said)
    for name in ("edge_attr", "edge_weight"):
        if data.get(name) is not None:
            _check_rows(data[name], name, edge_index.shape[1], "edges")
    undirected = data.is_undirected()
    kept = edge_index[0] <= edge_index[1] if undirected else torch.ones(edge_index.shape[1], dtype=torch.bool)
    edges = {names.source: arrow_array(edge_index[0, kept]), names.target: arrow_array(edge_index[1, kept])}
    for name in ("edge_attr", "edge_weight"):
        if data.get(name) is not None:
            edges |= _columns(data[name], name, edge_index.shape[1], "edges", kept)
    numbered |= is_values(label)  # whether they are integers is seen where they are added
    return GraphTables(pa.table(columns | labels), pa.table(edges), not undirected, tuple(labels), numbered)


def _columns(values: Any, name: str, rows: int, what: str, kept: Tensor | None = None) -> dict[str, Any]:
    _check_rows(values, name, rows, what)
    if name in _FEATURES and values.is_floating_point() and bool((gaps := values.to_dense().isnan()).any()):
        row = int(gaps.reshape(rows, -1).any(1).nonzero()[0])
        raise InputError(f"graph: {name} is NaN in row {row}; expected numbers")
    return numbered_columns(values if kept is None else values.to_dense()[kept], name)


def _check_rows(values: Any, name: str, rows: int, what: str) -> None:
    if not isinstance(values, Tensor) or values.dim() not in (1, 2) or len(values) != rows:
        found = "is missing" if values is None else f"has shape {list(getattr(values, 'shape', ()))}"
        raise InputError(f"graph: {name} {found}; expected a tensor with {rows} rows, one for each of the {what}")


def _of_networkx(graph: Any, names: Names) -> GraphTables:
    nodes = list(graph.nodes(data=True))
    if not nodes:
        raise InputError("graph: has no nodes")
    edges = list(graph.edges(data=True))
    ids = [str(node) for node, _ in nodes]
    node_columns = {names.id: pa.array(ids, pa.string())}
    node_columns |= _attributes([found for _, found in nodes], taken=(names.id,))
    ends = [pa.array([str(edge[end]) for edge in edges], pa.string()) for end in (0, 1)]
    edge_columns = dict(zip((names.source, names.target), ends, strict=True))
    edge_columns |= _attributes([edge[2] for edge in edges], taken=(names.source, names.target))
    return GraphTables(pa.table(node_columns), pa.table(edge_columns), bool(graph.is_directed()))


def _attributes(found: list[dict[Any, Any]], taken: tuple[str, ...]) -> dict[str, Any]:
    """A column for every attribute; one of the name of an id has "(attribute)" after it."""
    columns: dict[str, Any] = {}
    for key in dict.fromkeys(key for attributes in found for key in attributes):
        name = f"{key} (attribute)" if str(key) in taken else str(key)
        values = [attributes.get(key) for attributes in found]
        width = _width(values)
        if width is None:
            columns[name] = arrow_array(values)
            continue
        filled = [[None] * width if value is None else list(value) for value in values]
        columns |= {f"{name}_{number}": arrow_array([row[number] for row in filled]) for number in range(width)}
    return columns


def _width(values: Iterable[Any]) -> int | None:
    """The length of the lists of numbers, where all values are such and equally long."""
    known = [value for value in values if value is not None]
    vectors = (isinstance(value, list | tuple | np.ndarray | Tensor) and np.ndim(value) == 1 for value in known)
    lengths = {len(value) if is_vector else 0 for value, is_vector in zip(known, vectors, strict=True)}
    return lengths.pop() if len(lengths) == 1 and 0 not in lengths else None


def _is_networkx(data: object) -> bool:
    return all(hasattr(data, name) for name in ("nodes", "edges", "is_directed", "adjacency"))


def is_integer(values: Any) -> bool:
    """Whether an array or tensor holds integers."""
    kind = getattr(values, "dtype", None)
    if isinstance(kind, torch.dtype):
        return not (kind.is_floating_point or kind.is_complex or kind is torch.bool)
    return getattr(kind, "kind", "") in ("i", "u")
