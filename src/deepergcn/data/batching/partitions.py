"""One large graph in parts: a part of its nodes and the edges between them in each step."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch, build_batch
from deepergcn.data.batching.checks import check_rank, check_seed
from deepergcn.data.batching.metis import metis
from deepergcn.data.batching.subgraphs import induced
from deepergcn.data.dataset import Dataset
from deepergcn.errors import InputError


class Partitions:
    """Every node is in one of the parts; each batch is the subgraph that one part induces.

    Args:
        dataset: A dataset of one graph.
        parts: How many parts; none is empty.
        seed: The seed of what is drawn; a draw depends on it and on the epoch alone.
        rank: The number of this process.
        world_size: How many processes share the parts. All have as many batches; where the parts cannot be shared
            evenly, the first ones stand in once more.
    """

    def __init__(self, dataset: Dataset, parts: int, *, seed: int = 0, rank: int = 0, world_size: int = 1) -> None:
        _check(dataset)
        if not 1 <= parts <= dataset.num_nodes:
            raise InputError(f"parts is {parts}; expected 1 to {dataset.num_nodes}, the number of nodes")
        check_seed(seed)
        check_rank(rank, world_size)
        self.dataset = dataset
        self.parts = parts
        self.seed = seed
        self.rank = rank
        self.world_size = world_size

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        return -(-self.parts // self.world_size)

    def part_of(self, epoch: int) -> Tensor:
        """int64 [nodes], the part that each node is in."""
        raise NotImplementedError

    def order(self, epoch: int) -> Sequence[int]:
        """The parts in the order of their batches."""
        return range(self.parts)

    def batches(self, epoch: int = 0) -> Iterator[GraphBatch]:
        """The subgraphs of one epoch; those of the same epoch are the same."""
        order = self.order(epoch)
        mine = [order[(self.rank + self.world_size * i) % self.parts] for i in range(len(self))]
        return induced(self.dataset, self.part_of(epoch), mine)


class RandomPartitions(Partitions):
    """Every node is put in one of the parts at random, anew in every epoch; the paper's way to train and evaluate.

        >>> partitions = RandomPartitions(dataset, parts=10)
        >>> for batch in partitions.batches(epoch=0): ...

    To average outputs over several draws, add the outputs for the batches of several epochs to an ``OutputMean``.
    """

    def part_of(self, epoch: int) -> Tensor:
        rng = np.random.default_rng([self.seed, epoch])
        part_of = rng.integers(self.parts, size=self.dataset.num_nodes)
        # So that no part is empty, however small the graph.
        part_of[rng.choice(self.dataset.num_nodes, self.parts, replace=False)] = np.arange(self.parts)
        return torch.from_numpy(part_of)


class ClusterPartitions(Partitions):
    """METIS cuts the graph once, so that few edges are between the parts; their order is drawn anew in every epoch."""

    def __init__(self, dataset: Dataset, parts: int, *, seed: int = 0, rank: int = 0, world_size: int = 1) -> None:
        super().__init__(dataset, parts, seed=seed, rank=rank, world_size=world_size)
        self._part_of = metis(dataset, parts, seed)
        self.parts = int(self._part_of.max()) + 1

    def part_of(self, epoch: int) -> Tensor:
        return self._part_of

    def order(self, epoch: int) -> Sequence[int]:
        order: list[int] = np.random.default_rng([self.seed, epoch]).permutation(self.parts).tolist()
        return order


class WholeGraph:
    """The whole graph in one batch, the same in every epoch, with the dataset's own ``Adjacency``."""

    def __init__(self, dataset: Dataset) -> None:
        _check(dataset)
        graph = dataset.graph(0)
        self.batch = build_batch(
            dataset,
            graph.edge_index,
            graph.edge_attr,
            x=graph.x,
            node=torch.arange(dataset.num_nodes),
            adjacency=dataset.adjacency(),
        )

    def __len__(self) -> int:
        return 1

    def batches(self, epoch: int = 0) -> Iterator[GraphBatch]:
        """The one batch."""
        yield self.batch


def _check(dataset: Dataset) -> None:
    if len(dataset) != 1 or dataset.task.level != "node":
        raise InputError(
            f"{dataset.name} has {len(dataset)} graphs and a task about {dataset.task.level}s; "
            "parts are made of one graph with a task about nodes"
        )
