"""Numbers about whole graphs, such as fingerprints of molecules, beside what a network makes of vertices and edges."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn.errors import InputError
from deepergcn.nn.reset import reset_children

_LIMIT = 5.0  # standard deviations: one odd molecule must not outweigh everything else


class DescriptorWidths(NamedTuple):
    """The descriptors of every graph: counts, as fingerprints have them, and then numbers of any size."""

    counts: int
    numbers: int


class DescriptorScale(nn.Module):
    """log2(1 + c) of counts c; numbers in standard deviations from their mean, 5 at most, and 0 where unknown (NaN)."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, widths: DescriptorWidths) -> None:
        super().__init__()
        self.widths = widths
        self.register_buffer("mean", torch.zeros(widths.numbers))
        self.register_buffer("deviation", torch.ones(widths.numbers))

    def fit(self, values: Tensor) -> None:
        """Set mean and standard deviation of the numbers from ``values`` [graphs, numbers], ignoring NaN."""
        known = ~values.isnan()
        count = known.sum(0).clamp(min=1)
        mean = values.double().nan_to_num(0.0).sum(0) / count
        variance = torch.where(known, values.double() - mean, 0.0).square().sum(0) / count
        self.mean.copy_(mean)
        self.deviation.copy_(torch.where(variance > 0, variance.sqrt(), 1.0))

    def forward(self, values: Tensor) -> Tensor:
        counts, numbers = values.split([self.widths.counts, self.widths.numbers], dim=1)
        standardized = ((numbers - self.mean) / self.deviation).clamp(-_LIMIT, _LIMIT)
        return torch.cat((counts.log1p() / torch.log(counts.new_tensor(2.0)), standardized.nan_to_num(0.0)), dim=1)


class DescriptorEncoder(nn.Module):
    """From the descriptors of graphs to ``channels`` features of each: scale, Linear, ReLU and dropout.

    Args:
        widths: the numbers of counts and of other numbers.
        channels: the number of features.
        dropout: the probability that dropout zeroes a feature.
    """

    def __init__(self, widths: DescriptorWidths, channels: int, dropout: float = 0.0) -> None:
        super().__init__()
        if min(widths) < 0 or sum(widths) < 1:
            raise InputError(f"descriptors: expected at least one count or number, got {tuple(widths)}")
        self.widths = DescriptorWidths(*widths)
        self.dropout = dropout
        self.scale = DescriptorScale(self.widths)
        self.linear = nn.Linear(sum(self.widths), channels)

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        reset_children(self)

    def forward(self, values: Tensor | None, graphs: int) -> Tensor:
        """The features [graphs, channels] of graphs with these descriptors [graphs, counts + numbers]."""
        if values is None or values.shape != (graphs, sum(self.widths)) or not values.is_floating_point():
            found = "None" if values is None else f"{values.dtype} {list(values.shape)}"
            raise InputError(
                f"descriptors: expected a floating-point tensor [{graphs}, {sum(self.widths)}], since the network was "
                f"trained with descriptors, got {found}"
            )
        return F.dropout(self.linear(self.scale(values)).relu(), self.dropout, self.training)
