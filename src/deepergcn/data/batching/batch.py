"""The input of a network in one step: graphs or a part of one, with the structure that all layers share."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.descriptors import descriptor_values
from deepergcn.data.kernels.symmetric import symmetric_adjacency
from deepergcn.ops import Adjacency


class GraphBatch(Data):
    """A PyG ``Data`` with the ``Adjacency`` of its edges, which moves to another device with it.

    Attributes:
        x, edge_index, edge_attr, y: as in PyG, with both directions of every symmetric edge; None for features and
            labels that the dataset does not have.
        adjacency: the structure of ``edge_index``.
        item: int64, the numbers in the dataset of the nodes or graphs that the task labels.
        descriptors: float32 [graphs, ...], if the dataset has fingerprints or descriptors of graphs.
        batch, ptr: if there may be several graphs, the graph of each node and the start of each graph, as in PyG.
        train_mask, valid_mask, test_mask: bool [nodes], the parts of the split, if the task labels nodes.

    Further columns of the nodes, such as species, have their own names.
    """

    @property
    def num_graphs(self) -> int:
        """The number of graphs."""
        return len(self.ptr) - 1 if "ptr" in self else 1

    def apply(self, func: Callable[..., Any], *args: str) -> Self:
        names = set(args or self.keys())
        if tensors := names - {"adjacency"}:
            super().apply(func, *tensors)
        if "adjacency" in names:
            adjacency: Adjacency = self["adjacency"]
            self["adjacency"] = adjacency.apply(func)
        return self


def build_batch(
    dataset: Dataset,
    edge_index: Tensor,
    edge_attr: Tensor | None,
    *,
    x: Tensor | None,
    node: Tensor,
    adjacency: Adjacency | None = None,
    **others: Tensor,
) -> GraphBatch:
    """A batch of these edges and nodes, the rest of it looked up by the numbers of the nodes or of the ``item``s."""
    if adjacency is None and dataset.symmetric:
        adjacency = symmetric_adjacency(edge_index[:, ::2], len(node))
    elif adjacency is None:
        adjacency = Adjacency.from_edge_index(edge_index, len(node))
    item = others.setdefault("item", node)
    batch = GraphBatch(
        x=x,
        edge_index=edge_index,
        edge_attr=edge_attr,
        y=dataset.y[item],
        num_nodes=len(node),
        adjacency=adjacency,
        **others,
    )
    if dataset.task.level == "graph" and (descriptors := descriptor_values(dataset, item)) is not None:
        batch.descriptors = descriptors
    for name, extra in dataset.node_extra.items():
        batch[name] = extra[node]
    if dataset.task.level == "node":
        parts = dataset.split_part[node]
        for number, part in enumerate(PARTS):
            batch[f"{part}_mask"] = parts == number
    return batch


def room(values: Tensor | None, rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Tensor | None]:
    """For a kernel that gathers features: where from, where to, and the latter as a tensor; integers become int64.

    Where there are no features, the arrays have no columns and the tensor is None.
    """
    if values is None:
        nothing = np.empty((0, 0), dtype=np.float32)
        return nothing, nothing, None
    dtype = values.dtype if values.is_floating_point() else torch.int64
    out = torch.empty(rows, values.shape[1], dtype=dtype)
    return values.numpy(), out.numpy(), out
