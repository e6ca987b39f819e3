"""One graph from a table of nodes and a table of edges."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.folds import check_fold
from deepergcn.data.provenance import AnyProvenance, EdgeCounts, TableProvenance
from deepergcn.data.split import FRACTIONS, all_test, check_split
from deepergcn.data.storage.cache import cache_file, cached
from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.data.storage.folders import data_root
from deepergcn.data.tables.columns import Columns, as_names, other_columns
from deepergcn.data.tables.edges import distinct_edges, edge_ends, node_ids, parallel_edges, stored_edges
from deepergcn.data.tables.features import Unseen, infer_features, read_features, warn_of_gaps
from deepergcn.data.tables.files import Table, read_table, table_files, tables_digest, with_rows
from deepergcn.data.tables.labels import infer_labels, missing_labels, read_labels
from deepergcn.data.tables.parts import Split, check_choice, split_rows
from deepergcn.data.tables.sparse import Entries, dense_features, infer_sparse, read_entries, read_entries_again
from deepergcn.data.task import Kind, Metric
from deepergcn.errors import InputError
from deepergcn.user_cache import expand, real_path

_VERSION = 2  # of what is cached: to be raised when the same files give another dataset


def read_tables(
    nodes: Table,
    edges: Table | None = None,
    *,
    label: str | Sequence[str] = (),
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    directed: bool = False,
    features: str | Sequence[str] | None = None,
    edge_features: str | Sequence[str] | None = None,
    numeric: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    standardize: bool = False,
    sparse: str | None = None,
    projection: int | None = None,
    same_nodes: bool = False,
    delimiter: str | None = None,
    kind: Kind | None = None,
    positive: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    metric: Metric | None = None,
    split: Split = "random",
    split_column: str | Sequence[str] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    fold: Sequence[int] | None = None,
    root: str | Path | None = None,
) -> Dataset:
    """Read a dataset of one graph from two ``.csv``, ``.tsv`` (or ``.gz``) or ``.parquet`` files.

    :func:`read_tables_to_predict` reads other tables in the same way, with the ``provenance`` of this dataset.
    Rows are counted from 1, without the header.

    Args:
        nodes: The table of nodes; or a folder with the files ``nodes`` and ``edges``. A table that has already been
            read may be given as columns.
        edges: The table of edges. A repeated row (in either direction, if undirected) counts once.
        label: The label column of the nodes, or several. Empty cells are missing labels.
        id_column: The column of ``nodes`` with the id of every node, of any type.
        source_column: The column of ``edges`` with the id of the node that each edge leaves.
        target_column: The column of ``edges`` with the id of the node that each edge enters.
        directed: Whether an edge goes from source to target only.
        features: The columns of node features; by default all without another role. Numbers are used as they are, and
            a category becomes a 0/1 feature for each of its values.
        edge_features: The columns of edge features, in the same way.
        numeric: Features of either table that must be numbers.
        categorical: Features of either table to treat as categories although they are numbers or have many values.
        standardize: Whether to standardize numeric features with the mean and standard deviation of the train nodes
            (and of the edges that touch one), and to fill gaps with the mean.
        sparse: A file of sparse node features, in addition to those of ``nodes``: a scipy CSR matrix (``.npz``) with
            the rows of ``nodes``, or a table with the columns ``id_column``, ``feature`` and ``value``.
        projection: The number of channels of a random projection of sparse features, or 0 for none; by default 512 if
            they would take more than 2 GB.
        same_nodes: Whether only these nodes, in this order, can be predicted, since each has a learned embedding.
        delimiter: The delimiter between the cells of a text file; see
            :func:`deepergcn.data.tables.csv_file.read_csv`.
        kind: The kind of the task; by default inferred, see :func:`deepergcn.data.tables.labels.infer_labels`.
        positive: The positive class of two; by default inferred, see the same function.
        missing: Values that mark a missing label.
        metric: The metric; by default the first metric of the kind.
        split: ``"random"`` (over the nodes with a label) or ``"stratified"`` (the same within each class).
        split_column: The column of ``nodes`` with the values train, valid and test, instead of ``split``; or masks,
            such as ``train_mask``.
        fractions: The fractions of train, valid and test.
        seed: The seed of the random split.
        fold: The number of a fold, from 0, and the number of folds into which ``split`` divides the nodes: this fold is
            the test part, and valid has its share of the others.
        root: The folder of the cache.
    """
    check_split(fractions, seed)
    check_choice(split)
    if fold is not None:
        check_fold(fold)
        if split_column is not None:
            raise InputError("split_column: cannot be combined with fold, which makes its own split")
    node_file, edge_file = table_files(nodes, edges)
    labels, numbers, categories = as_names(label), as_names(numeric), as_names(categorical)

    def build() -> Dataset:
        node_table = with_rows(_read(nodes, node_file, delimiter))
        edge_table = _read(edges, edge_file, delimiter)
        label_schema = infer_labels(node_table, labels, kind, positive=positive, missing=missing)
        y = read_labels(node_table, label_schema)
        parts = split_rows(node_table, y, split, split_column, fractions, seed, fold)
        ids = node_ids(node_table, id_column)
        ends = edge_ends(edge_table, ids, source_column, target_column, node_file)
        taken = {id_column, *labels, *as_names(split_column or ())}
        node_columns = other_columns(node_table, taken) if features is None else as_names(features)
        edge_columns = other_columns(edge_table, {source_column, target_column}) if len(edge_table) else ()
        edge_columns = edge_columns if edge_features is None else as_names(edge_features)
        known, both = {*node_columns, *edge_columns}, {*numbers} & {*categories}
        for name in (*numbers, *categories):
            if name not in known or name in both:
                found = "named in both" if name in both else "not a feature"
                raise InputError(f"numeric, categorical: {name!r} is {found}; expected a feature in one of the two")
        in_train = np.zeros(len(node_table), dtype=bool)
        in_train[parts["train"].numpy()] = True
        touches_train = in_train[ends[0]] | in_train[ends[1]]
        kinds = {"numeric": numbers, "categorical": categories}
        entries = None
        if sparse_file is not None:
            entries = read_entries(sparse_file, ids, id_column, node_file, delimiter=delimiter)
        provenance = TableProvenance(
            id_column=id_column,
            source_column=source_column,
            target_column=target_column,
            directed=directed,
            features=infer_features(node_table, node_columns, standardize=in_train if standardize else None, **kinds),
            edge_features=infer_features(
                edge_table, edge_columns, standardize=touches_train if standardize else None, **kinds
            ),
            labels=label_schema,
            delimiter=delimiter,
            sparse=None if entries is None else infer_sparse(entries, len(node_table), projection),
            nodes_digest=text_digest(ids.to_pylist()) if same_nodes else None,
        )
        return _dataset(
            provenance,
            node_table,
            edge_table,
            ids,
            ends,
            y=y,
            split=parts,
            digest=digest,
            entries=entries,
            sparse_file=sparse_file,
        )

    sparse_file = None if sparse is None else expand(sparse)
    digest = tables_digest(node_file, edge_file, sparse_file)
    options: list[Any] = [labels, id_column, source_column, target_column, directed, features, edge_features]
    options += [numbers, categories, standardize, kind, split, split_column, fractions, seed]
    options += [delimiter, positive, missing, *([] if fold is None else [list(fold)])]
    options += [projection, same_nodes] if sparse is not None or same_nodes else []
    file = cache_file(data_root(root), node_file.name, str(real_path(node_file)), str(real_path(edge_file)), options)
    return cached(file, text_digest(_VERSION, digest, options), build).with_metric(metric)


def read_tables_to_predict(
    nodes: Table,
    edges: Table | None = None,
    *,
    provenance: AnyProvenance | None,
    unseen: Unseen = "error",
    sparse: str | Path | None = None,
) -> Dataset:
    """Read other tables in the way of ``provenance``, without labels and with all nodes in the part ``test``.

    Args:
        nodes: As for :func:`read_tables`; label and split columns are not needed and not read.
        edges: As for :func:`read_tables`.
        provenance: The ``provenance`` of the dataset that :func:`read_tables` returned.
        unseen: What to do with a category or a sparse feature not seen in training: ``"error"``, or ``"other"``, which
            leaves it out.
        sparse: The file of sparse features, if training had one.
    """
    if not isinstance(provenance, TableProvenance):
        raise InputError("provenance: expected that of a dataset of tables of nodes and edges")
    node_file, edge_file = table_files(nodes, edges)
    node_table = with_rows(_read(nodes, node_file, provenance.delimiter))
    edge_table = _read(edges, edge_file, provenance.delimiter)
    ids = node_ids(node_table, provenance.id_column)
    ends = edge_ends(edge_table, ids, provenance.source_column, provenance.target_column, node_file)
    _check_nodes(ids, provenance, node_file)
    warn_of_gaps(node_table, provenance.features)
    warn_of_gaps(edge_table, provenance.edge_features)
    sparse_file = None if sparse is None else Path(sparse)
    entries = read_entries_again(sparse_file, ids, provenance, node_file, unseen)
    return _dataset(
        provenance,
        node_table,
        edge_table,
        ids,
        ends,
        y=missing_labels(provenance.labels.task("node"), len(node_table)),
        split=all_test(len(node_table)),
        digest=text_digest(
            node_table.digest(), edge_table.digest(), *([] if sparse is None else [file_digest(Path(sparse))])
        ),
        unseen=unseen,
        entries=entries,
        sparse_file=sparse_file,
    )


def _read(table: Table | None, file: Path, delimiter: str | None) -> Columns:
    """The table that has been read already, else that of the file."""
    return read_table(table if isinstance(table, Columns) else file, delimiter)


def _dataset(
    provenance: TableProvenance,
    nodes: Columns,
    edges: Columns,
    ids: Any,
    ends: npt.NDArray[np.int64],
    *,
    y: Tensor,
    split: dict[str, Tensor],
    digest: str,
    unseen: Unseen = "error",
    entries: Entries | None = None,
    sparse_file: Path | None = None,
) -> Dataset:
    edge_attr = read_features(edges, provenance.edge_features, unseen)
    pairs = ends if provenance.directed else np.sort(ends, axis=0)
    kept = distinct_edges(pairs, edge_attr)
    loops, parallel = int((ends[0] == ends[1]).sum()), 0 if edge_attr is None else parallel_edges(pairs[:, kept])
    counts = EdgeCounts(rows=len(edges), loops=loops, repeated=ends.shape[1] - len(kept), parallel=parallel)
    edge_attr = None if edge_attr is None else edge_attr[kept]
    edge_index, edge_attr, symmetric = stored_edges(ends[:, kept], edge_attr, directed=provenance.directed)
    x = read_features(nodes, provenance.features, unseen)
    if entries is not None:
        assert provenance.sparse is not None
        assert sparse_file is not None
        more = dense_features(entries, provenance.sparse, len(nodes), sparse_file)
        x = more if x is None else torch.cat((x, more), dim=1)
    return Dataset(
        name=nodes.path.name,
        task=provenance.labels.task("node"),
        node_ptr=torch.tensor([0, len(nodes)]),
        edge_ptr=torch.tensor([0, edge_index.shape[1]]),
        edge_index=edge_index,
        symmetric=symmetric,
        x=x,
        edge_attr=edge_attr,
        y=y,
        split=split,
        digest=digest,
        label_names=provenance.labels.names,
        ids=tuple(ids.to_pylist()),
        provenance=provenance.model_copy(update={"counts": counts}),
    )


def _check_nodes(ids: Any, provenance: TableProvenance, node_file: Path) -> None:
    if provenance.nodes_digest is not None and text_digest(ids.to_pylist()) != provenance.nodes_digest:
        raise InputError(
            f"{node_file}: the ids differ from those of training; expected the same ids in the same order, since the "
            "network has learned an embedding for each of these nodes and has none for others"
        )
