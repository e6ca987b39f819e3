"""Linear layers whose input width, given as -1, is known only at the first call."""

import torch
from torch import nn

UNKNOWN = -1
"""The width that is taken from the first input, as in PyTorch Geometric."""


def linear(in_channels: int, out_channels: int, bias: bool = True) -> nn.Linear:
    """A Linear layer; with ``in_channels=-1`` a lazy one, which becomes an ordinary one at its first call."""
    if in_channels == UNKNOWN:
        return nn.LazyLinear(out_channels, bias=bias)
    return nn.Linear(in_channels, out_channels, bias=bias)


def known_width(layer: nn.Linear) -> int | None:
    """The width of the input; None as long as it is unknown."""
    return None if isinstance(layer.weight, nn.UninitializedParameter) else layer.weight.shape[1]


def fix_width(layer: nn.Linear, width: int) -> None:
    """Draw the weights of a lazy layer for inputs of this width; nothing where it has them."""
    if isinstance(layer, nn.LazyLinear):
        layer(torch.empty(0, width, device=layer.weight.device, dtype=layer.weight.dtype))
