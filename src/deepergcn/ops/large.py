"""Sums of large features, whose memory is used again from layer to layer.

They are PyTorch's own, bit for bit, in the memory of ``kernels.recycled``: what PyTorch itself allocates for them is
cleared by the system first, layer after layer. Features that are small, on another device, of another type or in a
trace are left to PyTorch.
"""

from typing import Any

import torch
from torch import Tensor

from deepergcn.ops.kernels.recycled import empty, fits
from deepergcn.ops.operators.aggregation import is_eager, needs_definition
from deepergcn.ops.path import on_plain_path


def is_large(x: Tensor) -> bool:
    """Whether results of the shape of ``x`` are worth it, and nothing but their numbers is asked for."""
    return is_eager(x) and fits(x, *x.shape) and not on_plain_path() and not torch.is_autocast_enabled("cpu")


def add(a: Tensor, b: Tensor) -> Tensor:
    """a + b."""
    if a.shape != b.shape or a.dtype != b.dtype or not (is_large(a) and is_large(b)):
        return a + b
    out: Tensor = _Add.apply(a, b)  # type: ignore[no-untyped-call]
    return out


def twice(x: Tensor) -> tuple[Tensor, Tensor]:
    """x for each of two uses, whose gradients are added."""
    if not is_large(x):
        return x, x
    first, second = _Twice.apply(x)  # type: ignore[no-untyped-call]
    return first, second


class _Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        return _sum(a, b)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0], grads[0]


class _Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        return x.view_as(x), x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Tensor | None:
        first, second = grads
        if first is None or second is None:
            return second if first is None else first
        return first + second if needs_definition() else _sum(first, second)


def _sum(a: Tensor, b: Tensor) -> Tensor:
    return torch.add(a, b, out=empty(a, *a.shape))
