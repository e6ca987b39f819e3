"""Data in memory, written to the folder of its run, so that the run can be resumed and evaluated like any other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from deepergcn.data.dataset import PARTS
from deepergcn.data.graphs.arrays import pyg_arrays
from deepergcn.data.graphs.read import ARRAYS, LABELS
from deepergcn.data.memory.frames import arrow_array, is_values, value_columns
from deepergcn.data.memory.graph import Names, graph_tables, is_integer
from deepergcn.data.memory.molecules import molecule_table
from deepergcn.data.storage.files import replacing
from deepergcn.errors import InputError, quote

SPLIT = "given split"
"""The column of a split that is given beside the data."""


@dataclass(frozen=True)
class Stored:
    """Data that was written.

    Attributes:
        options: The command-line options that read it.
        names: The names of its files in errors, by path.
        classes: The different labels if they are integers, which are class numbers in PyTorch Geometric.
    """

    options: dict[str, Any]
    names: dict[str, str]
    classes: frozenset[int] = frozenset()


def store_molecules(place: Path, molecules: Any, target: Any, split: Any, smiles_column: str | None) -> Stored:
    """Write a table of molecules."""
    found = molecule_table(molecules, target, smiles_column)
    if not found.targets:
        raise InputError("molecules: expected target, the column to predict or its values")
    table, said = _with_split(found.table, split)
    file = _written(place / "molecules.parquet", table)
    options: dict[str, Any] = {"molecules": file, "target": list(found.targets)}
    if found.smiles_column is not None:
        options["smiles_column"] = found.smiles_column
    return Stored(options | said, {file: "molecules"})


def store_graph(place: Path, graph: Any, label: Any, split: Any, names: Names, directed: bool | None) -> Stored:
    """Write tables of nodes and edges."""
    found = graph_tables(_alone(graph), label, names)
    if not found.labels:
        raise InputError("graph: expected label, the column or attribute of the nodes to predict, or its values")
    table, said = _with_split(found.nodes, split)
    nodes, edges = (
        _written(place / f"{name}.parquet", one) for name, one in (("nodes", table), ("edges", found.edges))
    )
    options = {
        "nodes": [nodes],
        "edges": [edges],
        "label": list(found.labels),
        "id_column": names.id,
        "source_column": names.source,
        "target_column": names.target,
        "directed": bool(found.directed if directed is None else directed),
    }
    numbered = found.numbered and len(found.labels) == 1
    classes = _classes(table.column(found.labels[0])) if numbered else frozenset()
    return Stored(options | said, {nodes: "nodes", edges: "edges"}, classes)


def store_graphs(place: Path, graphs: Any, label: Any, split: Any) -> Stored:
    """Write arrays of graphs, and a table of their labels."""
    if isinstance(graphs, Data) or not (hasattr(graphs, "__len__") and hasattr(graphs, "__getitem__")):
        raise InputError(
            f"graphs: are of type {type(graphs).__name__}; expected a list or dataset of PyTorch Geometric's Data, or "
            "graph for a single one"
        )
    arrays = pyg_arrays(graphs)
    values = label if label is not None and is_values(label) else _labels(graphs, "y" if label is None else label)
    columns = value_columns(values, "y", len(graphs), "label")
    classes = _classes(next(iter(columns.values()))) if len(columns) == 1 and is_integer(values) else frozenset()
    table, said = _with_split(pa.table({"graph": pa.array(np.arange(len(graphs))), **columns}), split)
    folder = place / "graphs"
    arrays.write(folder / ARRAYS)
    written = _written(folder / LABELS, table)
    options = {"graphs": str(folder), "label": list(columns), "id_column": "graph"}
    return Stored(options | said, {written: "graphs", str(folder): "graphs"}, classes)


def _classes(labels: Any) -> frozenset[int]:
    return frozenset(pc.unique(labels.drop_null()).to_pylist())


def _labels(graphs: Any, name: object) -> Any:
    """The labels [graphs] or [graphs, columns] of an attribute of every graph."""
    if not isinstance(name, str):
        raise InputError(
            f"label: is {quote(repr(name))}; expected the name of an attribute of every graph, or an array of values"
        )
    found = []
    for number in range(len(graphs)):
        value = graphs[number].get(name)
        if not isinstance(value, Tensor) or not value.numel():
            raise InputError(f"graphs: graph {number} has no label {name!r}; expected a tensor of one row")
        found.append(value.detach().cpu().reshape(-1).numpy())
        if len(found[-1]) != len(found[0]) or value.dim() > 2 or (value.dim() and len(value) > 1):
            raise InputError(
                f"graphs: graph {number} has {name} of shape {list(value.shape)}; expected [1] or [1, targets], the "
                "same in all graphs (for labels of nodes, use graph instead of graphs)"
            )
    return np.stack(found)


def _alone(graph: Any) -> Any:
    """The graph itself, or the only graph of a PyTorch Geometric dataset."""
    if isinstance(graph, HeteroData):
        raise InputError(
            "graph: HeteroData has several types; expected Data, or its tables as files (docs/own-data.md: nodes and "
            "edges of several types)"
        )
    if isinstance(graph, Data | str | tuple) or not hasattr(graph, "get") or not hasattr(graph, "__len__"):
        return graph
    if hasattr(graph, "num_node_features") and len(graph) != 1:
        raise InputError(f"graph: is a dataset of {len(graph)} graphs; expected one, or graphs for a task on graphs")
    return graph[0] if hasattr(graph, "num_node_features") else graph


def _with_split(table: Any, split: Any) -> tuple[Any, dict[str, str]]:
    """The table with a column of the split where its values are given, and the option that names it."""
    if split is None or isinstance(split, str):
        return table, {} if split is None else {"split": split}
    if isinstance(split, Mapping):
        cells: list[str | None] = [None] * len(table)
        for part, items in split.items():
            for item in _numbers(items, len(table), str(part)):
                if cells[item] is not None:
                    raise InputError(f"split: row {item} is in {cells[item]} and in {part}; expected one part")
                cells[item] = str(part)
        values: Any = pa.array(cells, pa.string())
    else:
        values = arrow_array(split if hasattr(split, "__array__") else list(split))
    if len(values) != len(table):
        raise InputError(f"split: has {len(values)} values; expected {len(table)}, one for each row")
    return table.append_column(SPLIT, values), {"split": SPLIT}


def _numbers(items: Any, rows: int, part: str) -> Sequence[int]:
    """The numbers of rows, given as such or as a mask."""
    array = items.detach().cpu().numpy() if isinstance(items, Tensor) else np.asarray(items)
    if array.dtype == bool and array.shape == (rows,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and not 0 <= array.min() <= array.max() < rows):
        raise InputError(
            f"split: {part!r} is {array.dtype} {list(array.shape)}; expected rows from 0 to {rows - 1}, or a mask, "
            f"for each of {', '.join(PARTS)}"
        )
    numbers: list[int] = array.tolist()
    return numbers


def _written(path: Path, table: Any) -> str:
    with replacing(path) as part:
        try:
            pyarrow.parquet.write_table(table, part)
        except pa.ArrowException as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(f"{path.stem}: cannot be written as a table: {first}") from error
    return str(path)
