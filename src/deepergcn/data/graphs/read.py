"""A dataset of a user's own graphs, with labels for training or without."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.graphs.arrays import GraphArrays, read_arrays
from deepergcn.data.provenance import AnyProvenance, ArrayFeatures, GraphProvenance
from deepergcn.data.split import FRACTIONS, all_test, check_split
from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.data.tables.columns import Columns, as_names, read_columns
from deepergcn.data.tables.labels import infer_labels, missing_labels, read_labels
from deepergcn.data.tables.parts import Split, check_choice, split_rows
from deepergcn.data.task import Kind, Metric
from deepergcn.errors import InputError

ARRAYS, LABELS = "graphs.safetensors", "graphs.parquet"
"""The files of a folder of graphs."""

MOST_VALUES = 100_000
"""The largest number of values of a category: larger integers are rather numbers, and an embedding of each is wide."""


def read_graphs(
    path: str | Path,
    *,
    label: str | Sequence[str] = (),
    id_column: str | None = None,
    kind: Kind | None = None,
    positive: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    metric: Metric | None = None,
    split: Split = "random",
    split_column: str | Sequence[str] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    standardize: bool = False,
    root: str | Path | None = None,
) -> Dataset:
    """A dataset of the graphs in a folder with ``graphs.safetensors`` and ``graphs.parquet``.

    Args:
        path: The folder.
        label: The label column of ``graphs.parquet``, or several. Empty cells are missing labels.
        id_column: The column of names for the graphs; their numbers if None.
        kind, positive, missing, metric, split, split_column, fractions, seed: As for
            :func:`deepergcn.data.read_tables`.
        standardize: Whether features of numbers are standardized by the mean and the standard deviation over the train
            graphs.
        root: The folder of caches; the arrays are read as they are, and need none.
    """
    folder = Path(path)
    check_split(fractions, seed)
    check_choice(split)
    arrays, table = read_arrays(folder / ARRAYS), read_columns(folder / LABELS)
    if len(table) != len(arrays):
        raise InputError(f"{table.path}: has {len(table)} rows; expected {len(arrays)}, one for each graph")
    schema = infer_labels(table, as_names(label), kind, positive=positive, missing=missing)
    y = read_labels(table, schema)
    parts = split_rows(table, y, split, split_column, fractions, seed)
    nodes = _of_graphs(arrays.node_ptr, parts["train"])
    edges = _of_graphs(arrays.edge_ptr, parts["train"])
    provenance = GraphProvenance(
        id_column=id_column,
        labels=schema,
        nodes=_features(arrays.x, nodes if standardize else None, "x"),
        edges=_features(arrays.edge_attr, edges if standardize else None, "edge_attr"),
    )
    return _dataset(arrays, table, provenance, y, parts, graphs_digest(folder)).with_metric(metric)


def read_graphs_to_predict(
    graphs: str | Path | GraphArrays, *, provenance: AnyProvenance | None, table: Columns | None = None
) -> Dataset:
    """Other graphs, read as those of ``provenance`` were: without labels, and all in the part ``test``.

    Args:
        graphs: A folder as for :func:`read_graphs`, or the arrays.
        provenance: The ``provenance`` of the dataset that :func:`read_graphs` returned.
        table: A row for each graph, which has its name; numbers are the names if None.
    """
    if not isinstance(provenance, GraphProvenance):
        raise InputError("provenance: expected that of a dataset of graphs")
    digest = "" if isinstance(graphs, GraphArrays) else graphs_digest(Path(graphs))
    arrays = graphs if isinstance(graphs, GraphArrays) else read_arrays(Path(graphs) / ARRAYS)
    y = missing_labels(provenance.labels.task("graph"), len(arrays))
    return _dataset(arrays, table, provenance, y, all_test(len(arrays)), digest)


def graphs_digest(folder: Path) -> str:
    """The digest of both files of a folder of graphs."""
    return text_digest(file_digest(folder / ARRAYS), file_digest(folder / LABELS))


def _dataset(
    arrays: GraphArrays,
    table: Columns | None,
    provenance: GraphProvenance,
    y: Tensor,
    split: dict[str, Tensor],
    digest: str,
) -> Dataset:
    column = provenance.id_column
    ids: tuple[str, ...] = ()
    if table is not None and column is not None:
        table.require((column,), "ids")
        ids = tuple(name or "" for name in table.text(column).to_pylist())
    return Dataset(
        name="graphs",
        task=provenance.labels.task("graph"),
        node_ptr=arrays.node_ptr,
        edge_ptr=arrays.edge_ptr,
        edge_index=arrays.edge_index,
        symmetric=False,
        x=_scaled(arrays.x, provenance.nodes, "x"),
        x_categories=None if provenance.nodes is None else provenance.nodes.categories,
        edge_attr=_scaled(arrays.edge_attr, provenance.edges, "edge_attr"),
        edge_categories=None if provenance.edges is None else provenance.edges.categories,
        y=y,
        split=split,
        digest=digest,
        label_names=provenance.labels.names,
        ids=ids,
        provenance=provenance,
    )


def _of_graphs(pointers: Tensor, graphs: Tensor) -> Tensor:
    """Whether each node or edge is one of these graphs."""
    chosen = torch.zeros(len(pointers) - 1, dtype=torch.bool)
    chosen[graphs] = True
    return chosen.repeat_interleave(pointers.diff())


def _features(values: Tensor | None, rows: Tensor | None, name: str) -> ArrayFeatures | None:
    """How features become those of the network; numbers are scaled by these rows."""
    if values is None:
        return None
    if not values.is_floating_point():
        if not len(values) or int(values.min()) < 0 or int(values.max()) >= MOST_VALUES:
            found = "no rows" if not len(values) else f"{int(values.min())} to {int(values.max())}"
            raise InputError(
                f"graphs: {name} has integers, which are categories, from {found}; expected 0 to {MOST_VALUES - 1}, or "
                "floating-point numbers"
            )
        return ArrayFeatures(width=values.shape[1], categories=tuple((values.amax(0) + 1).tolist()))
    if not bool(values.isfinite().all()):
        raise InputError(f"graphs: {name} has a value that is not finite; expected finite numbers")
    if rows is None or not bool(rows.any()):
        return ArrayFeatures(width=values.shape[1])
    known = values[rows].double()
    deviation = known.std(0, correction=0)
    deviation = torch.where(deviation > 0, deviation, 1.0)
    return ArrayFeatures(width=values.shape[1], mean=tuple(known.mean(0).tolist()), deviation=tuple(deviation.tolist()))


def _scaled(values: Tensor | None, features: ArrayFeatures | None, name: str) -> Tensor | None:
    found = None if values is None else (values.shape[1], values.is_floating_point())
    expected = None if features is None else (features.width, features.categories is None)
    if found != expected:
        raise InputError(f"graphs: {name} has {_described(found)}; the network was trained on {_described(expected)}")
    if values is None or features is None or features.categories is not None:
        return values
    if not features.mean:
        return values
    mean, deviation = torch.tensor(features.mean).double(), torch.tensor(features.deviation).double()
    scaled = (values.double() - mean) / deviation
    return scaled.float()


def _described(width: tuple[int, bool] | None) -> str:
    if width is None:
        return "no features"
    features = "1 feature" if width[0] == 1 else f"{width[0]} features"
    return f"{features} of {'numbers' if width[1] else 'integers, which are categories'}"
