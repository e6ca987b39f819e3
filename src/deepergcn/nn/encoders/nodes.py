"""Node encoders: from raw node features to the width of the network."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn.encoders.tables import Tables
from deepergcn.nn.lazy import UNKNOWN, known_width, linear
from deepergcn.nn.reset import reset_children


class LinearNodeEncoder(nn.Module):
    """A Linear layer on features [nodes, in_channels]; -1 takes the width from the first input."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        if in_channels < 1 and in_channels != UNKNOWN:
            raise InputError(f"node_encoder: expected a width of at least 1, or -1 for a lazy one, got {in_channels}")
        self.linear = linear(in_channels, channels)

    def reset_parameters(self) -> None:
        self.linear.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        _check(x, known_width(self.linear))
        out: Tensor = self.linear(x)
        return out


class CategoricalNodeEncoder(nn.Module):
    """The sum of an embedding table for each column of categories [nodes, columns], as for atoms."""

    def __init__(self, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        self.tables = Tables("x", sizes, channels)

    def reset_parameters(self) -> None:
        self.tables.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.tables(x)
        return out


class MixedNodeEncoder(nn.Module):
    """An embedding table for each column of categories, and a Linear layer on the numbers that follow them.

    It takes features [nodes, categories + numbers], all floating-point, as with random-walk encodings of atoms.
    """

    def __init__(self, sizes: Sequence[int], numbers: int, channels: int) -> None:
        super().__init__()
        self.tables = Tables("x", sizes, channels)
        self.linear = nn.Linear(numbers, channels)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, x: Tensor) -> Tensor:
        columns = len(self.tables.sizes)
        _check(x, columns + self.linear.in_features)
        out: Tensor = self.tables(x[:, :columns].long()) + self.linear(x[:, columns:])
        return out


class SpeciesNodeEncoder(nn.Module):
    """Linear([sum of the incident edge features, Linear(one-hot species)]), the encoder of ogbn-proteins.

    It takes features [nodes, edge_channels + species]: the sums first, then the one-hot species.
    """

    def __init__(self, channels: int, edge_channels: int = 8, species: int = 8) -> None:
        super().__init__()
        self.species = nn.Linear(species, species)
        self.linear = nn.Linear(edge_channels + species, channels)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, x: Tensor) -> Tensor:
        _check(x, self.linear.in_features)
        count = self.species.in_features
        sums, one_hot = x[:, :-count], x[:, -count:]
        out: Tensor = self.linear(torch.cat([sums, self.species(one_hot)], dim=1))
        return out


NodeEncoderSpec = int | Sequence[int] | nn.Module | None
"""A raw width (a Linear layer), the sizes of categories, any module, or None for features taken as they are."""


def build_node_encoder(spec: NodeEncoderSpec, channels: int) -> nn.Module | None:
    """The encoder that ``spec`` asks for, to the width ``channels``."""
    match spec:
        case None | nn.Module():
            return spec
        case int():
            return LinearNodeEncoder(spec, channels)
        case Sequence() if not isinstance(spec, str):
            return CategoricalNodeEncoder(spec, channels)
    raise InputError(
        f"node_encoder: expected a width, the sizes of categories, a module or None, got {type(spec).__name__}"
    )


def _check(x: Tensor, width: int | None) -> None:
    if x.dim() != 2 or (x.shape[1] != width and width is not None) or not x.is_floating_point():
        expected = "width" if width is None else width
        raise InputError(f"x: expected a floating-point tensor [nodes, {expected}], got {x.dtype} {list(x.shape)}")
