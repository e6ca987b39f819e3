"""The batch source that fits a dataset and the settings of a recipe."""

from typing import Literal

import torch
from torch import Tensor

from deepergcn.data.batching.links import AllPairs, LinkBatches
from deepergcn.data.batching.loader import GraphLoader
from deepergcn.data.batching.partitions import ClusterPartitions, Partitions, RandomPartitions, WholeGraph
from deepergcn.data.batching.saint import WalkSubgraphs
from deepergcn.data.batching.source import BatchSource
from deepergcn.data.batching.typed_graph import TypedGraph
from deepergcn.data.dataset import Dataset
from deepergcn.data.typed.dataset import TypedDataset
from deepergcn.errors import InputError

Partitioning = Literal["random", "metis", "saint"]

_PARTITIONS: dict[Partitioning, type[Partitions]] = {
    "random": RandomPartitions,
    "metis": ClusterPartitions,
    "saint": WalkSubgraphs,
}


def batch_source(
    dataset: Dataset,
    *,
    seed: int,
    graphs: Tensor | None = None,
    shuffle: bool = False,
    batch_size: int = 1,
    partitions: int = 1,
    partitioning: Partitioning = "random",
    negatives: int | None = None,
    rank: int = 0,
    world_size: int = 1,
) -> BatchSource:
    """Batches of graphs where the task labels graphs, of links where it labels these, else of parts of one graph.

    Args:
        dataset: The dataset.
        seed: The seed of all that is drawn.
        graphs: The graphs or pairs of nodes to take, where the task labels these; all of them if None.
        shuffle: Draw a new order of the graphs in every epoch.
        batch_size: The number of graphs, parts or links of a step, over all processes.
        partitions: The number of parts; 1 is the whole graph.
        partitioning: How the parts are drawn.
        negatives: The number of pairs without a link that are drawn for each link; all pairs are taken as they are, in
            one batch, if None.
        rank: The number of this process.
        world_size: The number of processes.
    """
    if isinstance(dataset, TypedDataset):
        if partitions > 1:
            raise InputError(f"partitions is {partitions}; expected 1, since a graph with types is not partitioned")
        return TypedGraph(dataset)
    if dataset.task.level == "graph":
        return GraphLoader(
            dataset, graphs, batch_size=batch_size, shuffle=shuffle, seed=seed, rank=rank, world_size=world_size
        )
    if dataset.task.level == "link":
        if partitions > 1:
            raise InputError(f"partitions is {partitions}; expected 1, since a task on links uses the whole graph")
        pairs = torch.arange(dataset.num_items) if graphs is None else graphs
        if negatives is None:
            return AllPairs(dataset, pairs)
        return LinkBatches(
            dataset, pairs, batch_size=batch_size, negatives=negatives, seed=seed, rank=rank, world_size=world_size
        )
    if partitions == 1:
        return WholeGraph(dataset)
    return _PARTITIONS[partitioning](
        dataset, partitions, batch_size=batch_size, seed=seed, rank=rank, world_size=world_size
    )
