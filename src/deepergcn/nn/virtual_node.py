"""The virtual node: one more vertex a graph, joined to all others."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn.nn.norms import NormName, build_norm
from deepergcn.nn.pooling import pool
from deepergcn.nn.reset import reset_children


class VirtualNode(nn.Module):
    """An embedding v, initially 0, that every vertex of its graph hears and that hears them all.

    It is added to every vertex before the first layer; before each later layer it becomes
    dropout(MLP(v + sum of the vertices' features)) and is added to them again.

    Args:
        channels: the width of the network.
        num_layers: the number of its layers.
        norm: the normalization in the MLPs.
        dropout: the probability that dropout zeroes a value.
    """

    def __init__(self, channels: int, num_layers: int, norm: NormName | None, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.zeros(channels))
        self.updates = nn.ModuleList(_update(channels, norm) for _ in range(num_layers - 1))
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Draw all parameters anew; the embedding is 0."""
        nn.init.zeros_(self.embedding)
        reset_children(self)

    def start(self, num_graphs: int) -> Tensor:
        """The virtual nodes before the first layer, [num_graphs, channels]."""
        return self.embedding.expand(num_graphs, -1)

    def to_vertices(self, v: Tensor, batch: Tensor) -> Tensor:
        """What every vertex hears, [vertices, channels]; unlike that of ``v[batch]``, the gradient has one order."""
        return v.index_select(0, batch)

    def forward(self, layer: int, v: Tensor, h: Tensor, batch: Tensor) -> Tensor:
        """The virtual nodes before ``layer`` (1 or later), from those before and the vertices' features ``h``."""
        update = self.updates[layer - 1]
        return F.dropout(update(pool("sum", h, batch, v.shape[0]) + v), self.dropout, self.training)


def _update(channels: int, norm: NormName | None) -> nn.Sequential:
    modules: list[nn.Module] = []
    for _ in range(2):
        between = build_norm(norm, channels)
        modules += [nn.Linear(channels, channels), *([] if between is None else [between]), nn.ReLU()]
    return nn.Sequential(*modules)
