"""Batches of links: the whole graph, and pairs of its nodes."""

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch, build_batch
from deepergcn.data.batching.source import BatchSource, OneBatch, without_labels
from deepergcn.data.dataset import Dataset, directed
from deepergcn.data.links.negatives import draw_for
from deepergcn.data.links.pairs import Ints, pair_keys, with_keys
from deepergcn.data.seeds import generator
from deepergcn.errors import InputError


class AllPairs(OneBatch):
    """Pairs of nodes with the whole graph, in one batch.

    Args:
        dataset: A dataset of links.
        pairs: int64, the numbers of the pairs to take.
    """

    def __init__(self, dataset: Dataset, pairs: Tensor) -> None:
        super().__init__(dataset, _whole(dataset, pairs))


class LinkBatches(BatchSource):
    """The links of a step and pairs that are none, on the graph without the links of the step.

    A link that a network is to find must not be among the edges that its messages pass over: the edges that join the
    nodes of a link of the step, in either direction, are left out of the step. Pairs without a link are drawn anew in
    every epoch, uniformly from those that are neither a train link nor an edge. Whether they are links of valid or
    test is not asked: training must not know these.

    Args:
        dataset: A dataset of links.
        links: int64, the numbers of the links to take.
        batch_size: The number of links of a step, over all processes.
        negatives: The number of pairs without a link for each link.
        seed: The seed of the order and of the pairs without a link.
        rank: The number of this process.
        world_size: The number of processes, which share the links of every step; see :class:`BatchSource`.
    """

    def __init__(
        self,
        dataset: Dataset,
        links: Tensor,
        *,
        batch_size: int,
        negatives: int = 1,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(dataset, batch_size=batch_size, seed=seed, rank=rank, world_size=world_size)
        if negatives < 1:
            raise InputError(f"negatives is {negatives}; expected at least 1")
        self.links, self.negatives = links, negatives
        self.whole = _whole(dataset, links)
        self.pairs: Ints = _pairs(dataset).numpy()
        keys = pair_keys(dataset.edge_index.numpy(), dataset.num_nodes)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        known = pair_keys(_pairs(dataset)[:, dataset.split["train"]].numpy(), dataset.num_nodes)
        self._known = np.unique(np.concatenate((keys, known)))

    @property
    def num_units(self) -> int:
        """The number of links."""
        return len(self.links)

    def order(self, epoch: int) -> Sequence[int]:
        shuffled = torch.randperm(len(self.links), generator=generator(self.seed, "shuffle", epoch))
        numbers: list[int] = self.links[shuffled].tolist()
        return numbers

    def share(self, group: Sequence[int]) -> Sequence[int]:
        return group[self.rank :: self.world_size] or group[:1]

    def steps(self, epoch: int, start: int = 0) -> Iterator[list[GraphBatch]]:
        for group in self.groups(epoch)[start:]:
            batch = self.collate(epoch, group, self.share(group))
            yield [batch if self.rank < len(group) else without_labels(batch)]

    def collate(self, epoch: int, group: Sequence[int], share: Sequence[int]) -> GraphBatch:
        """The batch of the links in ``share``, on the graph without the links of the whole ``group``."""
        nodes = self.dataset.num_nodes
        mine = np.array(share, dtype=np.int64)
        hidden = np.unique(pair_keys(self.pairs[:, np.array(group, dtype=np.int64)], nodes))
        batch = self._without(with_keys(self._keys, self._order, hidden))
        drawn = draw_for(mine, self.negatives, nodes, self._known, self.seed, epoch)
        batch.item = torch.from_numpy(mine)
        batch.edge_label_index = torch.from_numpy(np.concatenate((self.pairs[:, mine], drawn), axis=1))
        batch.y = torch.cat((torch.ones(len(mine), 1), torch.zeros(drawn.shape[1], 1)))
        return batch

    def _without(self, hidden: Ints) -> GraphBatch:
        """The graph without these of its stored edges."""
        dataset, whole = self.dataset, self.whole
        if not len(hidden):
            return copy(whole)
        kept = torch.ones(dataset.num_edges, dtype=torch.bool)
        kept[torch.from_numpy(hidden)] = False
        attr = None if dataset.edge_attr is None else dataset.edge_attr[kept]
        edge_index, attr = directed(dataset.edge_index[:, kept], attr, symmetric=dataset.symmetric)
        wide = attr if attr is None or attr.is_floating_point() else attr.long()
        node = torch.arange(dataset.num_nodes)
        return build_batch(dataset, edge_index.long(), wide, x=whole.x, node=node, item=self.links[:1])


def _pairs(dataset: Dataset) -> Tensor:
    if dataset.pairs is None:
        raise InputError(f"{dataset.name} has a task on {dataset.task.level}s; expected one on links")
    return dataset.pairs


def _whole(dataset: Dataset, pairs: Tensor) -> GraphBatch:
    """The whole graph with the dataset's own ``Adjacency``."""
    graph, chosen = dataset.graph(0), _pairs(dataset)[:, pairs]
    return build_batch(
        dataset,
        graph.edge_index,
        graph.edge_attr,
        x=graph.x,
        node=torch.arange(dataset.num_nodes),
        adjacency=dataset.adjacency(),
        item=pairs,
        edge_label_index=chosen,
    )
