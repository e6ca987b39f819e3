"""Outputs averaged over several draws of partitions."""

import torch
from torch import Tensor

from deepergcn.errors import InputError


class OutputMean:
    """The mean of all outputs that were added for each item.

    Args:
        items: The number of items: nodes or graphs.
    """

    def __init__(self, items: int) -> None:
        self.items = items
        self.count = torch.zeros(items, dtype=torch.int64)
        self.total = torch.zeros(items, 0)

    def add(self, item: Tensor, outputs: Tensor) -> None:
        """Add the outputs [len(item), outputs] of these items, each of which occurs once."""
        width = self.total.shape[1]
        if outputs.ndim != 2 or len(outputs) != len(item) or (width and outputs.shape[1] != width):
            raise InputError(
                f"outputs have the shape {list(outputs.shape)}; expected [{len(item)}, {width or 'outputs'}]"
            )
        if len(item) and not 0 <= int(item.min()) <= int(item.max()) < self.items:
            raise InputError(f"items are from {int(item.min())} to {int(item.max())}; expected 0 to {self.items - 1}")
        outputs, item = outputs.detach().float().cpu(), item.cpu()
        if not width:
            self.total = outputs.new_zeros(self.items, outputs.shape[1])
        self.total.index_add_(0, item, outputs)
        self.count.index_add_(0, item, torch.ones_like(item))

    def mean(self) -> Tensor:
        """float32 [items, outputs], NaN for an item without outputs."""
        return self.total / self.count[:, None]
