"""Batches of whole graphs, gathered straight from the dataset's flat arrays."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch, build_batch, room
from deepergcn.data.batching.checks import check_rank, check_seed
from deepergcn.data.dataset import Dataset
from deepergcn.data.kernels.graphs import collate_edges, collate_nodes
from deepergcn.errors import InputError

Ints = npt.NDArray[np.int64]


class GraphLoader:
    """Batches of graphs, in an order that depends on the seed and the epoch alone.

        >>> loader = GraphLoader(dataset, dataset.split["train"], batch_size=32, shuffle=True)
        >>> for batch in loader.batches(epoch=0): ...

    Args:
        dataset: The graphs.
        graphs: The numbers of those to take; all of them without it.
        batch_size: How many graphs a batch has, on each rank; the last may have fewer.
        shuffle: Draw a new order for every epoch; else the order is that of ``graphs``.
        seed: The seed of the order.
        drop_last: Leave out the last step where it has too few graphs.
        rank: The number of this process.
        world_size: How many processes there are. Each has its own graphs and all have as many batches. Where the last
            step has fewer graphs than there are ranks, the first graphs of the order stand in once more.
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
        self.dataset = dataset
        self.graphs: Ints = (torch.arange(len(dataset)) if graphs is None else _checked(graphs, dataset)).numpy()
        if batch_size < 1:
            raise InputError(f"batch_size is {batch_size}; expected at least 1")
        check_seed(seed)
        check_rank(rank, world_size)
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.rank = rank
        self.world_size = world_size
        self._nodes: Ints = dataset.node_ptr.numpy()
        self._edges: Ints = dataset.edge_ptr.numpy()

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        step = self.batch_size * self.world_size
        return len(self.graphs) // step if self.drop_last else -(-len(self.graphs) // step)

    def batches(self, epoch: int = 0) -> Iterator[GraphBatch]:
        """The batches of one epoch; those of the same epoch are the same."""
        order = self.graphs
        if self.shuffle:
            order = np.random.default_rng([self.seed, epoch]).permutation(order)
        step = self.batch_size * self.world_size
        for start in range(0, len(self) * step, step):
            chosen = order[start : start + step]
            if len(chosen) < self.world_size:
                chosen = np.resize(np.concatenate((chosen, order)), self.world_size)
            yield self.collate(chosen[self.rank :: self.world_size])

    def collate(self, graphs: npt.ArrayLike) -> GraphBatch:
        """The batch of these graphs, in this order."""
        dataset, nodes, edges = self.dataset, self._nodes, self._edges
        chosen = np.ascontiguousarray(graphs, dtype=np.int64)
        if not len(chosen):
            raise InputError("graphs are none; expected at least one for a batch")
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
