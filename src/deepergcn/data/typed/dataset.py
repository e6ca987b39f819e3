"""One graph whose nodes and edges have types."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.errors import InputError

EdgeType = tuple[str, str, str]
"""The type of the sources, the relation, and the type of the targets."""


@dataclass(frozen=True, eq=False)
class TypedEdges:
    """The edges of one type.

    Args:
        edge_index: int64 [2, edges]: source and target, each numbered within its own type.
        edge_attr: float32 [edges, width], or None without features.
    """

    edge_index: Tensor
    edge_attr: Tensor | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class TypedDataset(Dataset):
    """A graph with types of nodes and edges; its items are the nodes of the predicted type.

    The fields of :class:`Dataset` are those of these nodes, without edges.

    Args:
        target: The node type to predict.
        features: float32 [nodes, width] for every node type.
        edges: The edges of every type.
    """

    target: str
    features: Mapping[str, Tensor]
    edges: Mapping[EdgeType, TypedEdges]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target not in self.features or self.features[self.target] is not self.x:
            raise InputError(f"{self.name}: expected x to be the features of the type {self.target!r}")
        for name, x in self.features.items():
            if x.dtype != torch.float32 or x.ndim != 2 or not bool(x.isfinite().all()):
                raise InputError(f"{self.name}: expected finite float32 features [nodes, width] of the type {name!r}")
        for edge_type, edges in self.edges.items():
            self._check_edge_type(edge_type, edges)

    def without_edge_features(self) -> "TypedDataset":
        """The same graph without features of edges."""
        bare = {edge_type: TypedEdges(edges.edge_index) for edge_type, edges in self.edges.items()}
        changed = self.replace(edges=bare)
        assert isinstance(changed, TypedDataset)
        return changed

    def _check_edge_type(self, edge_type: EdgeType, edges: TypedEdges) -> None:
        edge_index, attr = edges.edge_index, edges.edge_attr
        if edge_index.dtype != torch.int64 or edge_index.ndim != 2 or edge_index.shape[0] != 2:
            raise InputError(f"{self.name}: expected int64 edges [2, edges] of the type {edge_type}")
        for numbers, name in zip(edge_index, (edge_type[0], edge_type[2]), strict=True):
            if name not in self.features:
                raise InputError(f"{self.name}: the edge type {edge_type} names {name!r}, which is not a node type")
            count = len(self.features[name])
            if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
                raise InputError(f"{self.name}: edges of the type {edge_type}: expected nodes 0 to {count - 1}")
        if attr is not None and (attr.dtype != torch.float32 or attr.shape[:1] != edge_index.shape[1:]):
            raise InputError(f"{self.name}: expected float32 features of all edges of the type {edge_type}")
