"""Blocks: layers made of a convolution, normalization, ReLU, dropout and a skip connection."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn.errors import InputError
from deepergcn.nn.counts import is_number
from deepergcn.nn.norm_relu_dropout import norm_relu_dropout
from deepergcn.nn.pyg.names import pyg_names
from deepergcn.nn.recompute import recompute
from deepergcn.nn.reset import reset_children
from deepergcn.nn.unchanged import is_unchanged
from deepergcn.ops import large


class Block(nn.Module):
    """One layer, called like its convolution: ``block(x, edge_index, edge_attr)``.

    Args:
        conv: the convolution.
        norm: the normalization, or None.
        dropout: the probability that dropout zeroes a value.
        relu: whether to apply ReLU; False in the last layer of a plain graph-level network.
        checkpoint: recompute the layer's activations in backward instead of keeping them.
    """

    @pyg_names({"ckpt_grad": "checkpoint"}, {"act": "the activation is ReLU, or none with relu=False"})
    def __init__(
        self,
        conv: nn.Module,
        norm: nn.Module | None = None,
        dropout: float = 0.0,
        relu: bool = True,
        checkpoint: bool = False,
    ) -> None:
        super().__init__()
        check_dropout(dropout)
        self.conv = conv
        self.norm = norm
        self.act: nn.Module | None = nn.ReLU() if relu else None
        self.dropout = dropout
        self.checkpoint = checkpoint

    def reset_parameters(self) -> None:
        """Reinitialize the parameters of convolution and normalization."""
        reset_children(self)

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if self.checkpoint:
            return recompute([self], self.connect, x, *args, **kwargs)
        return self.connect(x, *args, **kwargs)

    def connect(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The layer with its skip connection, without recomputation."""
        raise NotImplementedError

    @property
    def convs(self) -> list[nn.Module]:
        """The convolution, as a list of one."""
        return [self.conv]

    def extra_repr(self) -> str:
        return f"dropout={self.dropout}, checkpoint={self.checkpoint}"

    def _convolve(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """ReLU(norm(conv(x)))."""
        return self.activate(self.conv(x, *args, **kwargs), 0.0)

    def activate(self, x: Tensor, dropout: float) -> Tensor:
        """dropout(ReLU(norm(x)))."""
        if self.norm is None and self.act is None and not (dropout and self.training):
            return x
        if self.act is not None and (type(self.act) is not nn.ReLU or not is_unchanged(self.act)):
            h: Tensor = self.act(norm_relu_dropout(self.norm, x, 0.0, self.training, relu=False))
            return F.dropout(h, dropout, self.training)
        return norm_relu_dropout(self.norm, x, dropout, self.training, relu=self.act is not None)


class PlainBlock(Block):
    """dropout(ReLU(norm(conv(x)))): no skip connection, as in PlainGCN."""

    def connect(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self.activate(self.conv(x, *args, **kwargs), self.dropout)


class ResBlock(Block):
    """dropout(x + ReLU(norm(conv(x)))): the residual connection of ResGCN."""

    def connect(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return F.dropout(x + self._convolve(x, *args, **kwargs), self.dropout, self.training)


class ResPlusBlock(Block):
    """x + conv(dropout(ReLU(norm(x)))): the pre-activation residual connection of ResGCN+ and all GENs."""

    def connect(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        kept, x = large.twice(x)
        return large.add(kept, self.residual(x, *args, **kwargs))

    def residual(
        self, x: Tensor, *args: Any, virtual: Tensor | Callable[[Tensor], Tensor] | None = None, **kwargs: Any
    ) -> Tensor:
        """conv(dropout(ReLU(norm(x)))), the residual that is added to x.

        ``virtual`` is added before dropout: a tensor, or what it makes of ReLU(norm(x)).
        """
        if virtual is None:
            heard = self.activate(x, self.dropout)
        else:
            active = self.activate(x, 0.0)
            told = virtual if isinstance(virtual, Tensor) else virtual(active)
            heard = F.dropout(active + told, self.dropout, self.training)
        update: Tensor = self.conv(heard, *args, **kwargs)
        return update


class DenseBlock(Block):
    """dropout([x, ReLU(norm(conv(x)))]): the dense connection, which widens the features by the convolution's width."""

    def connect(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return F.dropout(torch.cat([x, self._convolve(x, *args, **kwargs)], dim=-1), self.dropout, self.training)


BLOCKS: dict[str, type[Block]] = {
    "plain": PlainBlock,
    "res": ResBlock,
    "res+": ResPlusBlock,
    "dense": DenseBlock,
}
"""Every block by name."""


def block_class(name: str) -> type[Block]:
    """The block called ``name``."""
    if name not in BLOCKS:
        raise InputError(f"block: expected one of {', '.join(BLOCKS)}, got {name!r}")
    return BLOCKS[name]


def check_dropout(dropout: float) -> None:
    if not (is_number(dropout) and 0 <= dropout < 1):
        raise InputError(f"dropout: expected a probability from 0 to below 1, got {dropout}")
