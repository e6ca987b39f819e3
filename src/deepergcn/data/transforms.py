"""Named transforms of a dataset, as listed in recipes."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.batching.known_labels import KNOWN_LABELS, known_labels
from deepergcn.data.dataset import Dataset, directed
from deepergcn.data.encodings import degree_features, node_numbers, return_probabilities
from deepergcn.data.kernels.graphs import incident_count, incident_features
from deepergcn.data.storage.memory import check_memory
from deepergcn.data.typed.dataset import TypedDataset
from deepergcn.errors import InputError

Reduce = Literal["sum", "mean", "max"]


def apply_transforms(dataset: Dataset, transforms: Iterable[str | Mapping[str, Any]]) -> Dataset:
    """Apply transforms one after another.

    Examples:
        >>> from deepergcn.data import load_dataset
        >>> dataset = load_dataset("synthetic-proteins", nodes=200, edges=1000)
        >>> apply_transforms(dataset, [{"name": "node-features-from-edges", "reduce": "sum"}]).x.shape
        torch.Size([200, 8])

    Args:
        dataset: the dataset, which is not changed.
        transforms: names in :data:`TRANSFORMS`, or mappings with ``name`` and options.
    """
    for entry in transforms:
        options = {"name": entry} if isinstance(entry, str) else dict(entry)
        name = options.pop("name", None)
        if isinstance(dataset, TypedDataset):
            raise InputError(
                f"transform {name}: {dataset.name} has types of nodes and edges, which no transform supports"
            )
        if not isinstance(name, str) or name not in TRANSFORMS:
            raise InputError(f"there is no transform {name!r}; expected one of {', '.join(TRANSFORMS)}")
        allowed = list(inspect.signature(TRANSFORMS[name]).parameters)[1:]
        unknown = [option for option in options if option not in allowed]
        if unknown:
            known = ", ".join(allowed) or "none"
            raise InputError(f"transform {name}: has no option {unknown[0]!r}; its options: {known}")
        dataset = TRANSFORMS[name](dataset, **options)
    return dataset


def node_features_from_edges(dataset: Dataset, reduce: Reduce = "sum") -> Dataset:
    """Add to every node the sum, mean or maximum of the features of its in-edges, 0 if it has none.

    In a symmetric dataset these are all edges of the node. New features are appended to existing ones.
    """
    if not isinstance(reduce, str) or reduce not in get_args(Reduce):
        raise InputError(f"reduce is {reduce!r}; expected one of {', '.join(get_args(Reduce))}")
    if dataset.edge_attr is None or dataset.edge_categories is not None:
        found = "no edge features" if dataset.edge_attr is None else "edge features that are categories"
        raise InputError(f"node-features-from-edges: {dataset.name} has {found}; expected numbers")
    where = dataset.node_ptr.numpy(), dataset.edge_ptr.numpy(), dataset.edge_index.numpy()
    features = dataset.edge_attr.numpy()
    shape = (dataset.num_nodes, features.shape[1])
    check_memory(12 * shape[0] * shape[1], f"node-features-from-edges: {shape[1]} features of {shape[0]} nodes")
    if reduce == "max":
        total = np.full(shape, -np.inf)
        incident_features(*where, features, dataset.symmetric, True, total)
        total[np.isneginf(total)] = 0.0
    else:
        total = np.zeros(shape)
        incident_features(*where, features, dataset.symmetric, False, total)
    if reduce == "mean":
        count = np.zeros(dataset.num_nodes, dtype=np.int64)
        incident_count(*where, dataset.symmetric, count)
        total /= np.maximum(count, 1)[:, None]
    with np.errstate(over="ignore"):
        made = total.astype(np.float32)
    if not np.isfinite(made).all():
        node = int(np.argwhere(~np.isfinite(made))[0, 0])
        raise InputError(f"node-features-from-edges: the {reduce} at node {node} of {dataset.name} exceeds float32")
    return _append(dataset, torch.from_numpy(made))


def one_hot_species(dataset: Dataset) -> Dataset:
    """Append a one-hot encoding of the species to the node features."""
    species = dataset.node_extra.get("species")
    if species is None or species.dtype != torch.int64:
        columns = ", ".join(dataset.node_extra) or "none"
        raise InputError(f"one-hot-species: {dataset.name} has no integer column species; its columns: {columns}")
    values, column = species.unique(return_inverse=True)
    check_memory(12 * len(values) * dataset.num_nodes, f"one-hot-species: {len(values)} species")
    return _append(dataset, torch.nn.functional.one_hot(column, len(values)).float())


def self_loops(dataset: Dataset, fill: float | None = None) -> Dataset:
    """Add a self-loop to every node without one, after the other edges of its graph.

    Args:
        fill: the features of the new edges; required if edges have features.

    The new dataset is not stored as symmetric, but has both directions of every edge.
    """
    if fill is not None and (type(fill) not in (int, float) or not abs(fill) <= torch.finfo(torch.float32).max):
        raise InputError(f"self-loops: fill is {fill!r}; expected a number within float32")
    if dataset.edge_attr is not None and (fill is None or dataset.edge_categories is not None):
        kind = "numbers; expected fill" if dataset.edge_categories is None else "categories; expected numbers, or none"
        raise InputError(f"self-loops: {dataset.name} has edge features that are {kind}")
    if dataset.edge_attr is None and fill is not None:
        raise InputError(f"self-loops: fill is {fill}, but {dataset.name} has no edge features")
    edges, graph_of, edge_attr = _directed(dataset)
    node_graph = torch.arange(len(dataset)).repeat_interleave(dataset.node_ptr.diff())
    offset = dataset.node_ptr[:-1]
    bare = torch.ones(dataset.num_nodes, dtype=torch.bool)
    loop = edges[0] == edges[1]
    bare[edges[0, loop] + offset[graph_of[loop]]] = False
    node = bare.nonzero()[:, 0]
    new = node - offset[node_graph[node]]
    graph = torch.cat((graph_of, node_graph[node]))
    order = torch.argsort(graph, stable=True)
    if edge_attr is not None:
        filled = torch.full((len(node), edge_attr.shape[1]), float(fill or 0.0))
        edge_attr = torch.cat((edge_attr, filled))[order]
    edges = torch.cat((edges, torch.stack((new, new))), dim=1)[:, order]
    return _with_edges(dataset, edges, graph[order], edge_attr)


def undirected(dataset: Dataset) -> Dataset:
    """Make the graph undirected: every edge in both directions, once, sorted by source and target, as in PyG.

    A symmetric dataset is already undirected. If several edges become one, their features must be equal.
    """
    if dataset.symmetric:
        return dataset
    edges, graph_of, edge_attr = _directed(dataset)
    offset = dataset.node_ptr[graph_of]
    source, target = edges + offset
    key = torch.cat((source * dataset.num_nodes + target, target * dataset.num_nodes + source))
    key, place = key.sort(stable=True)
    first = torch.ones(len(key), dtype=torch.bool)
    first[1:] = key[1:] != key[:-1]
    if edge_attr is not None:
        features = edge_attr[place % len(source)]
        kept = first.nonzero()[:, 0][first.cumsum(0) - 1]
        wrong = (features != features[kept]).any(1).nonzero()
        if len(wrong):
            edge = int(place[wrong[0, 0]]) % len(source)
            u, v = edges[:, edge].tolist()
            raise InputError(
                f"undirected: the edges between {u} and {v} of graph {int(graph_of[edge])} in {dataset.name} have "
                "different features; expected equal ones"
            )
        edge_attr = features[first]
    key = key[first]
    source, target = key // dataset.num_nodes, key % dataset.num_nodes
    graph_of = torch.searchsorted(dataset.node_ptr, source, right=True) - 1
    return _with_edges(dataset, torch.stack((source, target)) - dataset.node_ptr[graph_of], graph_of, edge_attr)


def random_walk(dataset: Dataset, steps: int = 16) -> Dataset:
    """Append the probabilities that a random walk returns to its first node after 1, 2, ..., ``steps`` steps.

    A step follows each out-edge of a node with the same probability; a node without out-edges ends the walk (Dwivedi
    et al., Graph Neural Networks with Learnable Structural and Positional Representations, 2022).
    """
    if type(steps) is not int or not 1 <= steps <= 1000:
        raise InputError(f"random-walk: steps is {steps!r}; expected an integer from 1 to 1000")
    check_memory(4 * steps * dataset.num_nodes, f"random-walk: {steps} probabilities of {dataset.num_nodes} nodes")
    edges, graph_of, _ = _directed(dataset)
    return _append(dataset, return_probabilities(edges, graph_of, dataset.node_ptr, steps))


def degree_encoding(dataset: Dataset) -> Dataset:
    """Append the :func:`deepergcn.data.encodings.degree_features` of every node."""
    return _append(dataset, degree_features(dataset))


def learned_encoding(dataset: Dataset) -> Dataset:
    """Give every node its number as its only feature, a category for which the network learns an embedding."""
    if dataset.x is not None:
        raise InputError(
            f"learned-encoding: {dataset.name} has node features; expected none beside a learned embedding"
        )
    x, sizes = node_numbers(dataset)
    return dataset.replace(x=x, x_categories=sizes)


def row_normalize(dataset: Dataset) -> Dataset:
    """Divide the features of every node by their sum, as usual for bags of words; features that are all 0 stay so."""
    if dataset.x is None or dataset.x_categories is not None or bool((dataset.x < 0).any()):
        raise InputError(f"row-normalize: {dataset.name} has no node features that are numbers of at least 0")
    total = dataset.x.sum(1, keepdim=True)
    return dataset.replace(x=dataset.x / torch.where(total > 0, total, 1.0))


TRANSFORMS: dict[str, Callable[..., Dataset]] = {
    "degree-encoding": degree_encoding,
    KNOWN_LABELS: known_labels,
    "learned-encoding": learned_encoding,
    "node-features-from-edges": node_features_from_edges,
    "one-hot-species": one_hot_species,
    "random-walk": random_walk,
    "row-normalize": row_normalize,
    "self-loops": self_loops,
    "undirected": undirected,
}
"""Every transform by name."""


def _append(dataset: Dataset, features: Tensor) -> Dataset:
    """The dataset with more numbers of every node, after its numbers or categories."""
    return dataset.replace(x=features if dataset.x is None else torch.cat((dataset.x.float(), features), dim=1))


def _directed(dataset: Dataset) -> tuple[Tensor, Tensor, Tensor | None]:
    """Both directions of every edge as int64 [2, edges], their graphs, and their features."""
    edges, edge_attr = directed(dataset.edge_index, dataset.edge_attr, symmetric=dataset.symmetric)
    counts = dataset.edge_ptr.diff() * (2 if dataset.symmetric else 1)
    return edges.long(), torch.arange(len(dataset)).repeat_interleave(counts), edge_attr


def _with_edges(dataset: Dataset, edges: Tensor, graph_of: Tensor, edge_attr: Tensor | None) -> Dataset:
    counts = torch.bincount(graph_of, minlength=len(dataset))
    return dataset.replace(
        edge_index=edges.to(dataset.edge_index.dtype),
        edge_ptr=torch.cat((counts.new_zeros(1), counts.cumsum(0))),
        edge_attr=edge_attr,
        symmetric=False,
    )
