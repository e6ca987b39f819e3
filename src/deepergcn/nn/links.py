"""From the features of two vertices to whether there is a link between them."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn.errors import InputError
from deepergcn.nn.blocks import check_dropout
from deepergcn.nn.counts import check_counts
from deepergcn.nn.reset import reset_children

CHUNK = 1 << 16
"""The number of pairs that are predicted at a time where no gradient is asked for."""


class LinkPredictor(nn.Module):
    """o_uv = MLP(h_u * h_v), the product taken channel by channel: it has no direction.

    Examples:
        >>> h = torch.randn(5, 8)
        >>> LinkPredictor(8)(h, torch.tensor([[0, 1, 2], [3, 4, 4]])).shape
        torch.Size([3, 1])

    The gradient of h is the same bits in every run: the rows of a vertex are added in the order of the pairs.

    Args:
        channels: the width of the features, and of the hidden layers.
        outputs: the number of outputs of a pair.
        num_layers: the number of Linear layers, with a ReLU and dropout between them.
        dropout: the probability that dropout zeroes a value.
    """

    def __init__(self, channels: int, outputs: int = 1, *, num_layers: int = 3, dropout: float = 0.0) -> None:
        super().__init__()
        check_counts(channels=channels, outputs=outputs, num_layers=num_layers)
        check_dropout(dropout)
        self.channels, self.dropout = channels, dropout
        widths = [channels] * num_layers + [outputs]
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in pairwise(widths))

    def reset_parameters(self) -> None:
        """Draw all parameters anew, from the same distributions as at construction."""
        reset_children(self)

    def forward(self, h: Tensor, pairs: Tensor) -> Tensor:
        """The outputs [pairs, outputs].

        Args:
            h: the features of the vertices [vertices, channels].
            pairs: int64 [2, pairs], the numbers of the two vertices of each pair.
        """
        if h.dim() != 2 or h.shape[1] != self.channels:
            raise InputError(f"h: expected [vertices, {self.channels}], got {list(h.shape)}")
        if pairs.dim() != 2 or pairs.shape[0] != 2 or pairs.dtype != torch.int64:
            raise InputError(f"pairs: expected int64 [2, pairs], got {pairs.dtype} {list(pairs.shape)}")
        if torch.compiler.is_compiling() or torch.is_grad_enabled() or pairs.shape[1] <= CHUNK:
            return self._outputs(h, pairs)
        return torch.cat([self._outputs(h, chunk) for chunk in pairs.split(CHUNK, dim=1)])

    def _outputs(self, h: Tensor, pairs: Tensor) -> Tensor:
        # The backward of index_select adds row by row; that of h[pairs] adds with atomics, in any order.
        x = h.index_select(0, pairs[0]) * h.index_select(0, pairs[1])
        *hidden, last = self.layers
        for layer in hidden:
            x = F.dropout(layer(x).relu(), self.dropout, self.training)
        out: Tensor = last(x)
        return out
