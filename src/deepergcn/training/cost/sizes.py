"""The bytes of graphs and features, by arithmetic alone; nothing is made or measured."""

import logging
import re
from typing import NamedTuple

import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.storage.memory import available_memory
from deepergcn.data.typed.dataset import TypedDataset
from deepergcn.recipes.schema import Recipe

_log = logging.getLogger(__name__)

_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
_TENSORS = 11
"""Tensors of a layer's width that live at once while it runs: its input and output, messages, and a wider MLP."""
_SHARE = 0.9
"""Of the memory that is available, what an evaluation may take."""
_DRAWS = 10
"""Draws of partitions that the memory has asked for, as the authors' successor averages on ogbn-proteins."""


class Batch(NamedTuple):
    """The size of a batch: nodes, and edges in both directions."""

    nodes: int
    edges: int

    def part(self, partitions: int) -> "Batch":
        """One of random parts: an edge stays where both of its ends are in it."""
        return Batch(-(-self.nodes // partitions), -(-self.edges // partitions**2))


def parse_memory(text: str) -> int:
    """The bytes of ``8GB``, ``1.5 GB`` or ``900MB``."""
    found = re.fullmatch(r"([0-9.]+) ?([MGT]B)", text)
    assert found is not None  # the schema has checked it
    return int(float(found[1]) * _UNITS[found[2]])


def memory_text(size: float) -> str:
    """Bytes as readable text, with two digits or more."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if size >= 0.95 * factor:
            return f"{size / factor:,.1f} {unit}" if size < 10 * factor else f"{size / factor:,.0f} {unit}"
    return f"{size / 1e3:,.0f} kB"


def whole_graph(dataset: Dataset) -> Batch:
    """The size of all graphs of a dataset together."""
    if isinstance(dataset, TypedDataset):
        edges = sum(typed.edge_index.shape[1] for typed in dataset.edges.values())
        return Batch(sum(map(len, dataset.features.values())), edges)
    return Batch(dataset.num_nodes, dataset.num_edges * (2 if dataset.symmetric else 1))


def graph_bytes(dataset: Dataset, batch: Batch) -> int:
    """Edges and their features as a batch has them, and the structure that all layers share."""
    attr = 0
    if dataset.edge_attr is not None:
        attr = dataset.edge_attr.shape[1] * (4 if dataset.edge_categories is None else 8)
    return batch.edges * (2 * 8 + 4 * 4 + attr) + batch.nodes * 8


def inference_bytes(dataset: Dataset, recipe: Recipe, batch: Batch) -> int:
    """What a network of any depth takes to evaluate a batch layer by layer, with the batch itself."""
    dense = recipe.model.num_layers + 1 if recipe.model.block == "dense" else 1
    widest = max(_TENSORS * recipe.model.hidden_channels * dense, 2 * dataset.task.outputs)
    return graph_bytes(dataset, batch) + 4 * batch.nodes * widest


def evaluation_partitions(dataset: Dataset, recipe: Recipe, device: torch.device | None = None) -> tuple[int, int]:
    """The number of partitions that a graph is evaluated in, and of draws of them over which outputs are averaged.

    If the recipe does not say, it is the whole graph, or as few parts as fit where the available memory, that of
    ``device`` included, cannot hold it.
    """
    section = recipe.evaluation
    if dataset.task.level != "node" or isinstance(dataset, TypedDataset):
        return 1, 1
    if section.partitions is not None:
        return section.partitions, (section.draws or 1) if section.partitions > 1 else 1
    memory = available_memory()
    if device is not None and device.type == "cuda":
        memory = min(memory, torch.cuda.mem_get_info(device)[0])
    whole, room = whole_graph(dataset), _SHARE * memory
    parts = 1
    while parts < dataset.num_nodes and inference_bytes(dataset, recipe, whole.part(parts)) > room:
        parts += 1
    if parts == 1:
        return 1, 1
    draws = section.draws or _DRAWS
    _log.warning(
        "%s: the whole graph would take about %s of the %s that are available; it is evaluated in %d random parts, "
        "averaged over %d draws (change this with evaluation.partitions and evaluation.draws)",
        dataset.name,
        memory_text(inference_bytes(dataset, recipe, whole)),
        memory_text(room),
        parts,
        draws,
    )
    return parts, draws
