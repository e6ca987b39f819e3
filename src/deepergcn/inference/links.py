"""Scores for pairs of nodes, and embeddings of nodes, by a network that was trained on links."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.links.pairs import Ints
from deepergcn.data.links.read import read_link_graph
from deepergcn.data.links.table import read_pairs
from deepergcn.data.provenance import LinkProvenance
from deepergcn.data.registry import SOURCES
from deepergcn.data.split import all_test
from deepergcn.data.tables.columns import read_columns
from deepergcn.data.tables.edges import node_ids
from deepergcn.data.tables.features import Unseen
from deepergcn.errors import InputError, quote
from deepergcn.inference.predictions import Embeddings, Floats, Predictions, at_rows, probabilities
from deepergcn.runs.dataset import transformed
from deepergcn.runs.model.outputs import beside, cells

if TYPE_CHECKING:
    from deepergcn.inference.predictor import Predictor

Pairs = str | Path | Sequence[tuple[str, str]]
"""A table with the ids of two nodes in each row, or a list of such pairs."""


@dataclass(frozen=True, eq=False)
class LinkPredictions(Predictions):
    """A score from 0 to 1 for every pair of nodes, in the order of the input.

    Attributes:
        pairs: The ids of the two nodes of each.
    """

    pairs: tuple[tuple[str, str], ...] = ()

    def columns(self, *, inputs: bool = False) -> dict[str, list[Any]]:
        """The columns ``source``, ``target`` and ``score``; with ``inputs``, the columns of the input and ``score``."""
        ends = {"source": [pair[0] for pair in self.pairs], "target": [pair[1] for pair in self.pairs]}
        known = self.inputs.columns() if inputs and self.inputs is not None else ends
        scores = {"score": cells(self.values[:, 0])}
        if self.deviations is not None:
            scores["deviation(score)"] = cells(self.deviations[:, 0])
        return beside(known, scores)


def predict_pairs(
    model: "Predictor",
    data: Pairs,
    nodes: str | Path | None = None,
    edges: str | Path | None = None,
    unseen: Unseen = "error",
) -> LinkPredictions:
    """A score for every pair.

    Args:
        model: A network that was trained on links.
        data: The pairs.
        nodes: The table of nodes of another graph than that of training.
        edges: The table of edges of that graph, over which messages pass.
        unseen: What to do with a category not seen in training.
    """
    graph = _graph(model, nodes, edges, unseen)
    ids = graph.node_ids or tuple(map(str, range(graph.num_nodes)))
    table = None
    if isinstance(data, str | Path):
        table = read_columns(Path(data))
        pairs = read_pairs(table, pa.array(ids), _ends(model), graph.name)
    else:
        pairs = _numbers(data, ids)
    if not pairs.shape[1]:
        raise InputError(f"{'the pairs' if table is None else table.path}: has no rows; expected two nodes in each row")
    items = torch.arange(pairs.shape[1])
    dataset = graph.replace(
        pairs=torch.from_numpy(pairs),
        y=torch.full((len(items), 1), torch.nan),
        split=all_test(len(items)),
    )
    values = probabilities(model.task, model.outputs(dataset), model.calibration)
    named = tuple((ids[u], ids[v]) for u, v in pairs.T.tolist())
    return LinkPredictions(
        model.task,
        model.output_names(),
        (("0", "1"),),
        tuple(f"{u} - {v}" for u, v in named),
        at_rows(values, items, len(items)),
        calibration=model.calibration,
        inputs=table,
        pairs=named,
    )


def embed_nodes(
    model: "Predictor",
    data: str | Path | Sequence[str],
    nodes: str | Path | None = None,
    edges: str | Path | None = None,
    id_column: str | None = None,
    unseen: Unseen = "error",
) -> Embeddings:
    """The features of nodes before the link predictor.

    Args:
        model: A network that was trained on links.
        data: A table with a column of ids, or a list of ids.
        nodes: As for :func:`predict_pairs`.
        edges: As for :func:`predict_pairs`.
        id_column: The column of ids; that of training if None.
        unseen: As for :func:`predict_pairs`.
    """
    graph = _graph(model, nodes, edges, unseen)
    known = {name: number for number, name in enumerate(graph.node_ids or map(str, range(graph.num_nodes)))}
    if isinstance(data, str | Path):
        table, provenance = read_columns(Path(data)), model.info.provenance
        column = id_column or (provenance.id_column if isinstance(provenance, LinkProvenance) else "id")
        asked, where = node_ids(table, column).to_pylist(), f"{table.path}: row"
    else:
        asked, where = list(data), "id"
    for row, name in enumerate(asked, start=1):
        if name not in known:
            raise InputError(f"{where} {row}: {quote(name)} is not the id of a node in {graph.name}")
    features = _embedded(model, graph)
    chosen = torch.tensor([known[name] for name in asked], dtype=torch.int64)
    values: Floats = features[chosen].float().numpy()
    return Embeddings(tuple(asked), values)


def pair_names(dataset: Dataset, items: Tensor) -> tuple[str, ...]:
    """The names of pairs of a dataset of links."""
    assert dataset.pairs is not None
    ids = dataset.node_ids or tuple(map(str, range(dataset.num_nodes)))
    return tuple(f"{ids[u]} - {ids[v]}" for u, v in dataset.pairs[:, items].T.tolist())


def _embedded(model: "Predictor", graph: Dataset) -> Tensor:
    from deepergcn.data.batching.links import AllPairs

    with torch.no_grad():
        return model.embedding(AllPairs(graph, torch.arange(1)).batch)


def _graph(model: "Predictor", nodes: str | Path | None, edges: str | Path | None, unseen: Unseen) -> Dataset:
    """The graph of training, or the one that these tables hold."""
    if nodes is None and edges is None:
        if not model.own_run and model.recipe.data.source not in SOURCES:
            raise InputError(
                "a model file has no graph; expected the tables of its nodes and edges (--nodes, --edges), or its run "
                "directory"
            )
        return model.dataset()
    provenance = model.info.provenance
    if not isinstance(provenance, LinkProvenance):
        raise InputError("--nodes, --edges: the network was not trained on your own tables; expected neither")
    return transformed(read_link_graph(nodes, edges, provenance, unseen), model.recipe)


def _ends(model: "Predictor") -> tuple[str, str]:
    provenance = model.info.provenance
    if isinstance(provenance, LinkProvenance):
        return provenance.source_column, provenance.target_column
    return "source", "target"


def _numbers(pairs: Sequence[tuple[str, str]], ids: Sequence[str]) -> Ints:
    """The numbers [2, pairs] of the nodes of a list of pairs."""
    if isinstance(pairs, Dataset) or any(isinstance(pair, str) or len(pair) != 2 for pair in pairs):
        raise InputError("a pair to predict does not have two ids; expected a list of (source, target), or a table")
    known = {name: number for number, name in enumerate(ids)}
    for row, pair in enumerate(pairs, start=1):
        for name in pair:
            if name not in known:
                raise InputError(f"pair {row}: {quote(name)} is not the id of a node")
        if pair[0] == pair[1]:
            raise InputError(f"pair {row}: links {quote(pair[0])} with itself; expected two different nodes")
    return np.array([[known[u] for u, _ in pairs], [known[v] for _, v in pairs]], dtype=np.int64).reshape(2, -1)
