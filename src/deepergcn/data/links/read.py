"""A dataset of links from a user's own tables: the links to predict, and the graph that messages pass over."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.links.graph import LinkGraph, all_ids, node_features, read_edges
from deepergcn.data.links.negatives import draw_distinct
from deepergcn.data.links.pairs import Ints, is_in, pair_keys
from deepergcn.data.links.table import LinkTable, read_link_table
from deepergcn.data.provenance import LinkProvenance
from deepergcn.data.split import FRACTIONS, all_test, check_split, column_split, random_split
from deepergcn.data.storage.cache import cache_file, cached
from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.data.storage.folders import data_root
from deepergcn.data.tables.columns import Columns, as_names, errors_in, other_columns, read_columns
from deepergcn.data.tables.edges import node_ids
from deepergcn.data.tables.features import Unseen, infer_features
from deepergcn.data.tables.files import Table, read_table, table_path, with_rows
from deepergcn.data.task import LINK_METRICS, Metric, Task
from deepergcn.errors import InputError
from deepergcn.user_cache import real_path

_VERSION = 1  # of what is cached: to be raised when the same files give another dataset


def read_links(
    links: Table,
    nodes: Table | None = None,
    edges: Table | None = None,
    *,
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    directed: bool = False,
    features: str | Sequence[str] | None = None,
    edge_features: str | Sequence[str] | None = None,
    standardize: bool = False,
    negatives: int = 1,
    metric: Metric | None = None,
    split_column: str | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    root: str | Path | None = None,
) -> Dataset:
    """Read a dataset of one graph whose items are pairs of nodes, from ``.csv``, ``.csv.gz`` or ``.parquet`` files.

    A link has no direction. The links of valid and test are removed from the graph that messages pass over, in both
    directions. Valid and test also contain random pairs of nodes that are neither a link nor an edge.

    Args:
        links: The table of links. A repeated pair, in either direction, counts once; a pair in two parts of the split
            is an error.
        nodes: The table of nodes; by default the nodes named in the other tables. If nodes have no features, each has
            a learned embedding.
        edges: The table of edges that messages pass over; by default the train links.
        id_column: The column of ``nodes`` with the id of every node.
        source_column: The column of ``links`` and of ``edges`` with the id of one end.
        target_column: The column with the id of the other end.
        directed: Whether messages go from source to target only.
        features: The columns of node features; by default all except the ids. See
            :func:`deepergcn.data.read_tables`.
        edge_features: The columns of edge features; by default all others of ``edges``.
        standardize: Whether to standardize numeric features over all nodes or edges, and to fill gaps with the mean.
        negatives: The number of pairs without a link for every link of valid and test.
        metric: One of :data:`deepergcn.data.task.LINK_METRICS`; by default the first.
        split_column: The column of ``links`` with the values train, valid and test; by default the split is random.
        fractions: The fractions of train, valid and test.
        seed: The seed of the random split and of the pairs without a link.
        root: The folder of the cache.
    """
    check_split(fractions, seed)
    if negatives < 1:
        raise InputError(f"negatives is {negatives}; expected at least 1")
    given = {"links": links, "nodes": nodes, "edges": edges}
    files = {name: table_path(table) for name, table in given.items() if table is not None}

    def build() -> Dataset:
        tables = {name: None if table is None else read_table(table) for name, table in given.items()}
        link_table, node_table, edge_table = tables["links"], tables["nodes"], tables["edges"]
        assert link_table is not None
        ends = (source_column, target_column)
        if node_table is None:
            ids = all_ids([table for table in (edge_table, link_table) if table is not None], ends)
        else:
            ids = node_ids(node_table, id_column)
        known_as = link_table.path if node_table is None else node_table.path
        rows = read_link_table(link_table, ids, ends, split_column, known_as)
        split = _split(rows, split_column, fractions, seed)
        columns = _columns(node_table, {id_column}, features)
        scale = np.ones(len(ids), dtype=bool) if standardize else None
        taken = None if node_table is None or not columns else infer_features(node_table, columns, standardize=scale)
        x, x_categories = node_features(node_table, taken, len(ids))
        evaluated = np.sort(pair_keys(rows.pairs[:, _both(split)], len(ids)))
        graph = (
            _train_links(rows, split, directed)
            if edge_table is None
            else read_edges(
                edge_table,
                ids,
                ends,
                known_as,
                directed=directed,
                columns=_columns(edge_table, {*ends}, edge_features),
                standardize=standardize,
            )
        )
        known = np.unique(np.concatenate((pair_keys(rows.pairs, len(ids)), pair_keys(graph.ends, len(ids)))))
        kept = ~is_in(pair_keys(graph.ends, len(ids)), evaluated)
        with errors_in(link_table.path):
            pairs, y, parts = _with_negatives(rows.pairs, split, negatives, len(ids), known, seed)
        provenance = LinkProvenance(
            id_column=id_column,
            source_column=source_column,
            target_column=target_column,
            directed=directed,
            features=taken,
            edge_features=graph.features,
            from_edges=edge_table is not None,
            repeated=rows.repeated,
            removed=int((~kept).sum()),
        )
        return link_dataset(
            graph.only(kept),
            name=link_table.path.name,
            pairs=pairs,
            y=y,
            split=parts,
            x=x,
            x_categories=x_categories,
            node_ids=tuple(ids.to_pylist()),
            digest=digest,
            provenance=provenance,
        )

    digest = text_digest({name: file_digest(file) for name, file in files.items()})
    options: list[Any] = [id_column, source_column, target_column, directed, features, edge_features, standardize]
    options += [negatives, split_column, list(fractions), seed]
    places = {name: str(real_path(file)) for name, file in files.items()}
    file = cache_file(data_root(root), files["links"].name, places, options)
    return cached(file, text_digest(_VERSION, digest, options), build).with_metric(metric)


def read_link_graph(
    nodes: str | Path | None, edges: str | Path | None, provenance: LinkProvenance, unseen: Unseen = "error"
) -> Dataset:
    """Read another graph to predict links in, like that of ``provenance``; it has one pair of nodes as a placeholder.

    Args:
        nodes: The table of nodes, with the features of training.
        edges: The table of edges that messages pass over.
        provenance: The ``provenance`` of the dataset that :func:`read_links` returned.
        unseen: What to do with a category not seen in training.
    """
    if provenance.features is None:
        raise InputError(
            "--nodes, --edges: the network has learned an embedding for each node of its training graph and has none "
            "for another graph; expected neither option"
        )
    if nodes is None or edges is None:
        raise InputError(
            f"--{'edges' if nodes else 'nodes'}: expected the tables of nodes and of edges together, or neither for "
            "the graph of training"
        )
    node_table, edge_table = read_columns(Path(nodes)), read_columns(Path(edges))
    ids = node_ids(node_table, provenance.id_column)
    with_rows(node_table)
    ends = (provenance.source_column, provenance.target_column)
    graph = read_edges(
        edge_table,
        ids,
        ends,
        node_table.path,
        directed=provenance.directed,
        columns=provenance.edge_features,
        unseen=unseen,
    )
    x, _ = node_features(node_table, provenance.features, len(ids), unseen)
    return link_dataset(
        graph,
        name=node_table.path.name,
        pairs=np.zeros((2, 1), dtype=np.int64),
        y=torch.full((1, 1), torch.nan),
        split=all_test(1),
        x=x,
        x_categories=None,
        node_ids=tuple(ids.to_pylist()),
        digest=text_digest(file_digest(node_table.path), file_digest(edge_table.path)),
        provenance=provenance,
    )


def link_dataset(
    graph: LinkGraph,
    *,
    name: str,
    pairs: Ints,
    y: Tensor,
    split: dict[str, Tensor],
    x: Tensor,
    x_categories: tuple[int, ...] | None,
    node_ids: tuple[str, ...],
    digest: str,
    provenance: LinkProvenance,
) -> Dataset:
    """The dataset of these pairs [2, items], whose messages pass over the edges of ``graph``."""
    edge_index, edge_attr, symmetric = graph.stored()
    return Dataset(
        name=name,
        task=Task("link", "binary", 1, LINK_METRICS[0]),
        node_ptr=torch.tensor([0, len(x)]),
        edge_ptr=torch.tensor([0, edge_index.shape[1]]),
        edge_index=edge_index,
        symmetric=symmetric,
        x=x,
        x_categories=x_categories,
        edge_attr=edge_attr,
        y=y,
        split=split,
        digest=digest,
        label_names=("link",),
        pairs=torch.from_numpy(pairs),
        node_ids=node_ids,
        provenance=provenance,
    )


def _columns(table: Columns | None, taken: set[str], named: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns of features: those that are named, else all that have no other role."""
    if named is not None:
        return as_names(named)
    return () if table is None or not len(table) else other_columns(table, taken)


def _split(rows: LinkTable, column: str | None, fractions: Sequence[float], seed: int) -> dict[str, Tensor]:
    """The part of every link."""
    if column is None:
        return random_split(np.arange(rows.pairs.shape[1]), fractions=fractions, seed=seed)
    with errors_in(rows.path):
        return column_split(rows.parts, fraction=fractions[1], seed=seed)


def _both(split: dict[str, Tensor]) -> Ints:
    """The numbers of the links of valid and test."""
    return torch.cat((split["valid"], split["test"])).numpy()


def _train_links(rows: LinkTable, split: dict[str, Tensor], directed: bool) -> LinkGraph:
    return LinkGraph(rows.pairs[:, split["train"].numpy()], None, (), directed)


def _with_negatives(
    links: Ints, split: dict[str, Tensor], per_link: int, nodes: int, known: Ints, seed: int
) -> tuple[Ints, Tensor, dict[str, Tensor]]:
    """The links and, after them, pairs without one for valid and for test; their labels and parts."""
    counts = {part: per_link * len(split[part]) for part in PARTS if part != "train"}
    drawn = draw_distinct(sum(counts.values()), nodes, known, seed, "link negatives")
    count = links.shape[1]
    y = torch.cat((torch.ones(count, 1), torch.zeros(drawn.shape[1], 1)))
    parts, start = {"train": split["train"]}, count
    for part, number in counts.items():
        parts[part] = torch.cat((split[part], torch.arange(start, start + number)))
        start += number
    return np.concatenate((links, drawn), axis=1), y, parts
