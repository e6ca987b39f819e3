"""The graph that messages pass over where links are predicted: its nodes, their features, and its edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from deepergcn.data.encodings import MOST_EMBEDDINGS
from deepergcn.data.links.pairs import Bools, Ints
from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.edges import distinct_edges, edge_ends, stored_edges
from deepergcn.data.tables.features import FeatureColumn, Unseen, infer_features, read_features
from deepergcn.errors import InputError


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """Edges between numbered nodes.

    Attributes:
        ends: [2, edges].
        edge_attr: The features of each edge, or None.
        features: How these were read.
        directed: Whether an edge goes from its source to its target only.
    """

    ends: Ints
    edge_attr: Tensor | None
    features: tuple[FeatureColumn, ...]
    directed: bool

    def only(self, kept: Bools) -> "LinkGraph":
        """The graph of some of its edges."""
        attr = None if self.edge_attr is None else self.edge_attr[torch.from_numpy(kept)]
        return LinkGraph(self.ends[:, kept], attr, self.features, self.directed)

    def stored(self) -> tuple[Tensor, Tensor | None, bool]:
        """The edges and their features as a dataset holds them, and whether each stands for both directions."""
        return stored_edges(self.ends, self.edge_attr, directed=self.directed)


def read_edges(
    table: Columns,
    ids: Any,
    ends: tuple[str, str],
    known_as: Path,
    *,
    directed: bool,
    columns: Sequence[str] | Sequence[FeatureColumn],
    standardize: bool = False,
    unseen: Unseen = "error",
) -> LinkGraph:
    """The edges of a table, equal ones once, with the features of these columns."""
    numbers = edge_ends(table, ids, *ends, known_as)
    scale = np.ones(len(table), dtype=bool) if standardize else None
    names = [column for column in columns if isinstance(column, str)]
    known = tuple(column for column in columns if isinstance(column, FeatureColumn))
    features = known or (infer_features(table, names, standardize=scale) if names and len(table) else ())
    edge_attr = read_features(table, features, unseen)
    kept = distinct_edges(numbers if directed else np.sort(numbers, axis=0), edge_attr)
    return LinkGraph(numbers[:, kept], None if edge_attr is None else edge_attr[kept], features, directed)


def node_features(
    table: Columns | None, columns: Sequence[FeatureColumn] | None, nodes: int, unseen: Unseen = "error"
) -> tuple[Tensor, tuple[int, ...] | None]:
    """The features of the nodes and, where they are categories, their numbers of values.

    Without columns the one feature of a node is its own number, a category that the network learns an embedding for.
    """
    if table is not None and columns:
        x = read_features(table, columns, unseen)
        assert x is not None
        return x, None
    if nodes > MOST_EMBEDDINGS:
        raise InputError(
            f"{nodes} nodes have no features; expected features, or at most {MOST_EMBEDDINGS} nodes to embed"
        )
    return torch.arange(nodes)[:, None], (nodes,)


def all_ids(tables: Sequence[Columns], ends: tuple[str, str]) -> Any:
    """The ids that the tables name, each once, in the order of their first row."""
    names = []
    for table in tables:
        table.require(ends, "edges" if len(tables) > 1 and table is tables[0] else "links")
        names += [table.text(column) for column in ends]
    return pc.unique(pa.concat_arrays(names)).drop_null()
