"""Lazy Linear layers: an input width of -1 is taken from the first input."""

import torch
from torch import Tensor, nn

UNKNOWN = -1
"""The width that is taken from the first input, as in PyTorch Geometric."""


def linear(in_channels: int, out_channels: int, bias: bool = True) -> nn.Linear:
    """A Linear layer; with ``in_channels=-1`` a lazy one, which becomes an ordinary one at the first call."""
    if in_channels == UNKNOWN:
        return nn.LazyLinear(out_channels, bias=bias)
    return nn.Linear(in_channels, out_channels, bias=bias)


def known_width(layer: nn.Module) -> int | None:
    """The input width; None while it is unknown, or if a layer in the place of a Linear layer does not say it."""
    weight = getattr(layer, "weight", None)
    if isinstance(weight, nn.UninitializedParameter):
        return None
    width: int | None = weight.shape[1] if isinstance(weight, Tensor) else getattr(layer, "in_features", None)
    return width


def fix_width(layer: nn.Linear, width: int) -> None:
    """Initialize a lazy layer for this input width; does nothing if it is initialized."""
    if isinstance(layer, nn.LazyLinear):
        layer(torch.empty(0, width, device=layer.weight.device, dtype=layer.weight.dtype))
