"""Partitions of one large graph: each step has a part of its nodes and the edges between them."""

from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.batching import vertex_order
from deepergcn.data.batching.batch import GraphBatch, build_batch
from deepergcn.data.batching.metis import metis
from deepergcn.data.batching.source import BatchSource, OneBatch
from deepergcn.data.batching.subgraphs import induced
from deepergcn.data.dataset import Dataset
from deepergcn.errors import InputError
from deepergcn.ops import Adjacency


class Partitions(BatchSource):
    """Partitions of the nodes: each batch is the subgraph induced by one part.

    Args:
        dataset: A dataset of one graph.
        parts: The number of parts; none is empty.
        batch_size: The number of parts in a step, over all processes; by default one for each process.
        seed: The seed; a draw depends only on the seed and the epoch.
        rank: The number of this process.
        world_size: The number of processes, which share the parts of every step; see :class:`BatchSource`.
    """

    def __init__(
        self,
        dataset: Dataset,
        parts: int,
        *,
        batch_size: int | None = None,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        size = world_size if batch_size is None else batch_size
        super().__init__(dataset, batch_size=max(size, 1), seed=seed, rank=rank, world_size=world_size)
        _check(dataset)
        if not 1 <= parts <= dataset.num_nodes:
            raise InputError(f"parts is {parts}; expected 1 to {dataset.num_nodes}, the number of nodes")
        self.parts = parts
        self.prepare()

    def prepare(self) -> None:
        """Compute what all epochs share; by default nothing."""

    @property
    def num_units(self) -> int:
        """The number of parts."""
        return self.parts

    def assignment(self, epoch: int) -> Tensor:
        """int64 [nodes], the part that each node is in."""
        raise NotImplementedError

    def order(self, epoch: int) -> Sequence[int]:
        return range(self.parts)

    def share(self, group: Sequence[int]) -> Sequence[int]:
        mine = group[self.rank :: self.world_size]
        return [*mine, *group[:1]] if len(mine) < -(-len(group) // self.world_size) else mine

    def gather(self, epoch: int, groups: Sequence[Sequence[int]]) -> Iterator[list[GraphBatch]]:
        wanted = [part for group in groups for part in group]
        subgraphs = induced(self.dataset, self.assignment(epoch), wanted)
        for group in groups:
            yield [next(subgraphs) for _ in group]


class RandomPartitions(Partitions):
    """Every node is assigned to a random part in every epoch, as the paper trains and evaluates.

    Examples:
        >>> from deepergcn.data import load_dataset
        >>> dataset = load_dataset("synthetic-proteins", nodes=200, edges=1000)
        >>> sum(batch.num_nodes for batch in RandomPartitions(dataset, parts=10).batches(epoch=0))
        200

    To average outputs over several draws, add the outputs for the batches of several epochs to an ``OutputMean``.
    """

    def assignment(self, epoch: int) -> Tensor:
        rng = np.random.default_rng([self.seed, epoch])
        assignment = rng.integers(self.parts, size=self.dataset.num_nodes)
        # So that no part is empty, however small the graph.
        assignment[rng.choice(self.dataset.num_nodes, self.parts, replace=False)] = np.arange(self.parts)
        return torch.from_numpy(assignment)


class ClusterPartitions(Partitions):
    """METIS partitions the graph once, with few edges between parts; every epoch has a new order of the parts."""

    def prepare(self) -> None:
        self._assignment = metis(self.dataset, self.parts, self.seed)
        self.parts = int(self._assignment.max()) + 1

    def assignment(self, epoch: int) -> Tensor:
        return self._assignment

    def order(self, epoch: int) -> Sequence[int]:
        order: list[int] = np.random.default_rng([self.seed, epoch]).permutation(self.parts).tolist()
        return order


_WHOLE: WeakKeyDictionary[Dataset, GraphBatch] = WeakKeyDictionary()
"""The whole graphs of the datasets in use: training and evaluation share one, with its edges in both directions."""


class WholeGraph(OneBatch):
    """The whole graph in one batch, the same in every epoch and for every source of the same dataset.

    The nodes of a large graph are in their ``vertex_order``; as in every batch, ``item`` has their numbers.
    """

    def __init__(self, dataset: Dataset) -> None:
        _check(dataset)
        if dataset not in _WHOLE:
            _WHOLE[dataset] = _reordered(dataset) if dataset.num_nodes >= vertex_order.LARGE else _as_given(dataset)
        super().__init__(dataset, _WHOLE[dataset])


def _as_given(dataset: Dataset) -> GraphBatch:
    graph = dataset.graph(0)
    node = torch.arange(dataset.num_nodes)
    return build_batch(dataset, graph.edge_index, graph.edge_attr, x=graph.x, node=node, adjacency=dataset.adjacency())


def _reordered(dataset: Dataset) -> GraphBatch:
    """The edges keep their order, so that every vertex adds up its messages in the same one."""
    graph = dataset.graph(0)
    node = vertex_order.vertex_order(Adjacency.from_edge_index(dataset.edge_index, dataset.num_nodes))
    place = torch.empty_like(node)
    place[node] = torch.arange(dataset.num_nodes)
    x = None if graph.x is None else graph.x[node]
    return build_batch(dataset, place[graph.edge_index], graph.edge_attr, x=x, node=node)


def _check(dataset: Dataset) -> None:
    if len(dataset) != 1 or dataset.task.level != "node":
        raise InputError(
            f"{dataset.name} has {len(dataset)} graphs and a task on {dataset.task.level}s; "
            "expected one graph with a task on nodes, to partition it"
        )
