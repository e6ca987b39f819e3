"""Batches of whole graphs, gathered straight from the dataset's flat arrays."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch, build_batch, room
from deepergcn.data.batching.source import BatchSource
from deepergcn.data.dataset import Dataset
from deepergcn.data.kernels.graphs import collate_edges, collate_nodes
from deepergcn.data.seeds import generator
from deepergcn.errors import InputError

Ints = npt.NDArray[np.int64]


class GraphLoader(BatchSource):
    """Batches of graphs, in an order that depends on the seed and the epoch alone.

    Examples:
        >>> from deepergcn.data import load_dataset
        >>> dataset = load_dataset("solubility")
        >>> loader = GraphLoader(dataset, dataset.split["train"], batch_size=32, shuffle=True)
        >>> [batch.num_graphs for batch in loader.batches(epoch=0)][-3:]
        [32, 32, 26]

    Args:
        dataset: The graphs.
        graphs: The numbers of the graphs to use; by default all.
        batch_size: The number of graphs in a step, over all processes; the last step may have fewer.
        shuffle: Draw a new order in every epoch; otherwise the order is that of ``graphs``.
        seed: The seed of the order.
        drop_last: Drop the last step if it has fewer graphs.
        rank: The number of this process.
        world_size: The number of processes, which share the graphs of every step; see :class:`BatchSource`.
    """

    def __init__(
        self,
        dataset: Dataset,
        graphs: Tensor | None = None,
        *,
        batch_size: int = 32,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(dataset, batch_size=batch_size, seed=seed, rank=rank, world_size=world_size)
        self.graphs: Ints = (torch.arange(len(dataset)) if graphs is None else _checked(graphs, dataset)).numpy()
        self.shuffle = shuffle
        self.drop_last = drop_last
        self._nodes: Ints = dataset.node_ptr.numpy()
        self._edges: Ints = dataset.edge_ptr.numpy()

    @property
    def num_units(self) -> int:
        """The number of graphs of an epoch."""
        return len(self) * self.batch_size if self.drop_last else len(self.graphs)

    def __len__(self) -> int:
        """The number of steps of an epoch."""
        steps = len(self.graphs) / self.batch_size
        return math.floor(steps) if self.drop_last else math.ceil(steps)

    def order(self, epoch: int) -> Sequence[int]:
        order = torch.from_numpy(self.graphs)
        if self.shuffle:
            order = order[torch.randperm(len(order), generator=generator(self.seed, "shuffle", epoch))]
        numbers: list[int] = order.tolist()
        return numbers

    def share(self, group: Sequence[int]) -> Sequence[int]:
        return group[self.rank :: self.world_size] or group[:1]

    def gather(self, epoch: int, groups: Sequence[Sequence[int]]) -> Iterator[list[GraphBatch]]:
        for group in groups:
            yield [self.collate(group)]

    def collate(self, graphs: npt.ArrayLike) -> GraphBatch:
        """The batch of these graphs, in this order."""
        dataset, nodes, edges = self.dataset, self._nodes, self._edges
        chosen = np.ascontiguousarray(graphs, dtype=np.int64)
        if not len(chosen):
            raise InputError("graphs: the list is empty; expected at least one for a batch")
        _check_range(chosen, len(dataset))
        ptr = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(nodes[chosen + 1] - nodes[chosen], out=ptr[1:])
        num_nodes = int(ptr[-1])
        num_edges = int((edges[chosen + 1] - edges[chosen]).sum()) * (2 if dataset.symmetric else 1)

        x_from, x_to, x = room(dataset.x, num_nodes)
        batch, node = np.empty((2, num_nodes), dtype=np.int64)
        collate_nodes(chosen, ptr, nodes, x_from, x_to, batch, node)

        attr_from, attr_to, edge_attr = room(dataset.edge_attr, num_edges)
        edge_index = torch.empty(2, num_edges, dtype=torch.int64)
        collate_edges(
            chosen,
            ptr,
            edges,
            dataset.edge_index.numpy(),
            attr_from,
            dataset.symmetric,
            edge_index.numpy(),
            attr_to,
        )
        others: dict[str, Any] = {} if dataset.task.level == "node" else {"item": torch.from_numpy(chosen)}
        return build_batch(
            dataset,
            edge_index,
            edge_attr,
            x=x,
            node=torch.from_numpy(node),
            batch=torch.from_numpy(batch),
            ptr=torch.from_numpy(ptr),
            **others,
        )


def _checked(graphs: Tensor, dataset: Dataset) -> Tensor:
    if graphs.dtype != torch.int64 or graphs.ndim != 1:
        raise InputError(f"graphs are {graphs.dtype} {list(graphs.shape)}; expected int64 numbers of graphs")
    if len(graphs):
        _check_range(graphs.numpy(), len(dataset))
    return graphs


def _check_range(graphs: Ints, count: int) -> None:
    low, high = int(graphs.min()), int(graphs.max())
    if low < 0 or high >= count:
        raise InputError(f"graphs are from {low} to {high}; expected 0 to {count - 1}")
