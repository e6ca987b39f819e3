"""Sums and products of large features, whose memory is used again from layer to layer.

They are PyTorch's own, bit for bit, in the memory of ``kernels.recycled``: what PyTorch itself allocates for them is
cleared by the system first, layer after layer. Features that are small, on another device, of another type or in a
trace are left to PyTorch.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

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


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x weight^T + bias, for x [rows, in] and weight [out, in]."""
    shape = x.shape[0], weight.shape[0]
    if not is_large(x) or not fits(x, *shape) or x.dim() != 2 or not is_eager(weight) or weight.dtype != x.dtype:
        return F.linear(x, weight, bias)
    held = _Hold.apply(x, weight)  # type: ignore[no-untyped-call]
    out: Tensor = _Product.apply(held, x.detach(), weight.detach(), bias)  # type: ignore[no-untyped-call]
    return out


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


class _Hold(torch.autograd.Function):
    """What the product's backward needs, before the product is computed: the last one of a segment of layers that are
    computed again is not, since PyTorch stops where all that backward needs is there.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return x.new_empty(()).expand(x.shape[0], weight.shape[0])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (g,) = grads
        x, weight = ctx.saved_tensors
        of_x, of_weight = ctx.needs_input_grad
        dx = None
        if of_x:
            dx = g.mm(weight) if needs_definition() else torch.mm(g, weight, out=empty(g, *x.shape))
        return dx, g.t().mm(x) if of_weight else None


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, held: Tensor, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        out = empty(x, *held.shape)
        return torch.mm(x, weight.t(), out=out) if bias is None else torch.addmm(bias, x, weight.t(), out=out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (g,) = grads
        return g, None, None, g.sum(dim=0) if ctx.needs_input_grad[3] else None


def _sum(a: Tensor, b: Tensor) -> Tensor:
    return torch.add(a, b, out=empty(a, *a.shape))
