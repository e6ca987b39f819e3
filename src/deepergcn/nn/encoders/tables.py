"""Embedding tables that are added up: one for each column of categories."""

from collections.abc import Sequence
from itertools import accumulate
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn.errors import InputError
from deepergcn.ops.path import is_forward_only

LARGEST_PRODUCT = 1 << 21
"""The largest number of zeros and ones up to which an embedding is a product of matrices."""


def check_sizes(name: str, sizes: Sequence[Any]) -> None:
    if not sizes or any(not isinstance(size, Integral) or int(size) < 1 for size in sizes):
        raise InputError(f"{name}: expected at least one column of at least one category, got sizes {list(sizes)}")


def number_again(module: Any, keys: object) -> None:
    """Number what ``module`` numbers where weights are loaded, as ``to_empty`` gives it memory without content."""
    module.number()


class Tables(nn.Module):
    """sum_k T_k[c_k], the k tables kept one below the other in one weight, initialised as OGB's encoders (Xavier).

    Args:
        name: the argument that the categories come from, for error messages.
        sizes: the number of values of each column.
        channels: the width of the embedding.
    """

    offsets: Tensor

    def __init__(self, name: str, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        check_sizes(name, sizes)
        self.name = name
        self.sizes = tuple(sizes)
        self.weight = nn.Parameter(torch.empty(sum(sizes), channels))
        self.register_buffer("offsets", None, persistent=False)
        self.register_load_state_dict_post_hook(number_again)  # type: ignore[no-untyped-call]
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the tables anew."""
        for table in self.weight.detach().split(self.sizes):
            nn.init.xavier_uniform_(table)
        self.number()

    def number(self) -> None:
        """Number the rows of the tables."""
        self.offsets = torch.tensor([0, *accumulate(self.sizes)][:-1], device=self.weight.device)

    def check(self, categories: Tensor) -> None:
        """Refuse anything but integers [rows, columns] within the sizes, which are looked at on a CPU alone.

        A GPU would have to be waited for; there torch stops the process at an index beyond a table.
        """
        columns = len(self.sizes)
        if categories.dim() != 2 or categories.shape[1] != columns or categories.is_floating_point():
            raise InputError(
                f"{self.name}: expected integers [rows, {columns}], got {categories.dtype} {list(categories.shape)}"
            )
        if torch.compiler.is_compiling() or not len(categories) or categories.device.type != "cpu":
            return
        low, high = categories.amin(0).tolist(), categories.amax(0).tolist()
        for column, size in enumerate(self.sizes):
            if low[column] < 0 or high[column] >= size:
                wrong = low[column] if low[column] < 0 else high[column]
                row = int((categories[:, column] == wrong).nonzero()[0])
                raise InputError(
                    f"{self.name}: category {wrong} in row {row}, column {column} is out of range, "
                    f"expected 0 to {size - 1}"
                )

    def multi_hot(self, categories: Tensor) -> Tensor:
        """The matrix [rows, all categories] of zeros and ones whose product with the weight is their embedding."""
        index = categories.long() + self.offsets
        return self.weight.new_zeros(index.shape[0], self.weight.shape[0]).scatter_(1, index, 1.0)

    def lookup(self, categories: Tensor, multi_hot: Tensor | None = None) -> Tensor:
        """The sum of the rows that ``categories`` [rows, columns] name, without a check.

        Where it is not large, it is taken as a product, given ``multi_hot`` or made here: an embedding's own backward
        sorts its indices, which takes several times as long. Under autocast a product would lose digits, and without
        a backward the sum itself is faster than making ``multi_hot``.
        """
        if torch.compiler.is_exporting():  # for any number of rows, in operators that ONNX has
            return F.embedding(categories.long() + self.offsets, self.weight).sum(1)
        small = categories.shape[0] * self.weight.shape[0] <= LARGEST_PRODUCT
        if torch.is_autocast_enabled(self.weight.device.type):
            multi_hot = None
        elif multi_hot is None and small and not is_forward_only():
            multi_hot = self.multi_hot(categories)
        if multi_hot is not None:
            return multi_hot @ self.weight
        return F.embedding_bag(categories.long() + self.offsets, self.weight, mode="sum")

    def forward(self, categories: Tensor, multi_hot: Tensor | None = None) -> Tensor:
        """``lookup``, with a check of categories that no ``multi_hot`` has been made of."""
        if multi_hot is None:
            self.check(categories)
        return self.lookup(categories, multi_hot)
