"""The virtual node: an additional vertex per graph, connected to all others."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn.nn.norms import NormName, build_norm
from deepergcn.nn.pooling import pool
from deepergcn.nn.reset import reset_children


class VirtualNode(nn.Module):
    """An embedding v per graph, initially 0, that exchanges messages with all vertices of the graph.

    It is added to every vertex before the first layer; before each later layer it is updated to
    dropout(MLP(v + sum of the vertex features)) and added again.

    Args:
        channels: the width of the network.
        num_layers: the number of layers of the network.
        norm: the normalization in the MLPs.
        dropout: the probability that dropout zeroes a value.
    """

    def __init__(self, channels: int, num_layers: int, norm: NormName | None, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.zeros(channels))
        self.updates = nn.ModuleList(_update(channels, norm) for _ in range(num_layers - 1))
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Reinitialize all parameters; the embedding is 0."""
        nn.init.zeros_(self.embedding)
        reset_children(self)

    def start(self, num_graphs: int) -> Tensor:
        """The virtual nodes before the first layer, [num_graphs, channels]."""
        return self.embedding.expand(num_graphs, -1)

    def to_vertices(self, v: Tensor, batch: Tensor) -> Tensor:
        """The virtual node of each vertex, [vertices, channels]; unlike ``v[batch]``, its gradient is deterministic."""
        return v.index_select(0, batch)

    def forward(self, layer: int, v: Tensor, h: Tensor, batch: Tensor) -> Tensor:
        """Update the virtual nodes before ``layer`` (1 or later), given the vertex features ``h``."""
        update = self.updates[layer - 1]
        return F.dropout(update(pool("sum", h, batch, v.shape[0]) + v), self.dropout, self.training)


def _update(channels: int, norm: NormName | None) -> nn.Sequential:
    modules: list[nn.Module] = []
    for _ in range(2):
        between = build_norm(norm, channels)
        modules += [nn.Linear(channels, channels), *([] if between is None else [between]), nn.ReLU()]
    return nn.Sequential(*modules)
