"""Normalization, ReLU and dropout of vertex features in one operator, which keeps nothing but its input for backward.

A pre-activation block begins with these three. In PyTorch they are three passes, three stored tensors, and random
numbers that alone can take a fifth of a training step on a CPU; here the dropout mask is a hash, made anew in backward.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from deepergcn.ops.cpu import Array, array
from deepergcn.ops.kernels import activation as kernels
from deepergcn.ops.kernels.intrinsics import WIDEST
from deepergcn.ops.operator import is_eager

Statistics = Literal["none", "row", "batch", "given"]
"""What is normalized by: nothing, each row's moments (layer norm), the batch's (batch norm), or given moments."""


def fits(x: Tensor) -> bool:
    """Whether the operator takes ``x``: [nodes, channels] on a CPU."""
    return x.device.type == "cpu" and x.dim() == 2 and 0 < x.shape[1] <= WIDEST and x.is_floating_point()


def norm_relu_dropout(
    x: Tensor,
    statistics: Statistics,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    eps: float = 1e-5,
    mean: Tensor | None = None,
    variance: Tensor | None = None,
    relu: bool = True,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """dropout(ReLU(norm(x) weight + bias)), and the mean and the (biased) variance that a batch norm used.

    The mask is drawn with torch's default generator: the same seed gives the same mask, for any number of threads.

    Args:
        x: [nodes, channels].
        statistics: see ``Statistics``.
        weight, bias: [channels], or None for 1 and 0.
        mean, variance: [channels], the given moments.
    """
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    channels = x.shape[1]
    scale = x.new_ones(channels, dtype=dtype) if weight is None else weight.to(dtype)
    shift = x.new_zeros(channels, dtype=dtype) if bias is None else bias.to(dtype)
    mean = x.new_zeros(channels, dtype=dtype) if mean is None else mean.to(dtype)
    variance = x.new_ones(channels, dtype=dtype) if variance is None else variance.to(dtype)
    seed = torch.randint(2**63 - 1, ()) if dropout > 0 else torch.zeros((), dtype=torch.int64)
    arguments = (x.to(dtype), scale, shift, mean, variance, seed, statistics, eps, relu, dropout)
    run: Any = _Eager.apply if is_eager(x) else _operator
    out, mean, variance = run(*arguments)
    return out.to(x.dtype), mean, variance


def _forward(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    seed: Tensor,
    statistics: str,
    eps: float,
    relu: bool,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor]:
    values, chunks = array(x), _chunk_count(x)
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    mask = _mask(values, seed, relu, dropout)
    if statistics == "row":
        kernels.layer(chunks, values, array(weight), array(bias), values.dtype.type(eps), *mask, array(out))
        return out, mean.clone(), variance.clone()
    if statistics == "batch":
        totals = np.zeros((chunks, 2, x.shape[1]))
        kernels.moments(chunks, values, totals)
        first, second = totals.sum(axis=0) / x.shape[0]
        mean = torch.from_numpy(first).to(x.dtype)
        variance = torch.from_numpy(np.maximum(second - first * first, 0)).to(x.dtype)
    moments = _moments(weight, bias, mean, variance, statistics, eps)
    kernels.apply(chunks, values, moments[0], *moments[2:], *mask, array(out))
    return out, mean.clone(), variance.clone()


def _backward(
    g: Tensor,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    seed: Tensor,
    statistics: str,
    eps: float,
    relu: bool,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of x, weight and bias."""
    values, slopes, chunks = array(x), array(g), _chunk_count(x)
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    mask = _mask(values, seed, relu, dropout)
    totals = np.zeros((chunks, 2, x.shape[1]))
    if statistics == "row":
        arrays = (array(weight), array(bias), values.dtype.type(eps))
        kernels.layer_backward(chunks, slopes, values, *arrays, *mask, array(dx), totals)
        dbias, dweight = totals.sum(axis=0)
    else:
        moments = _moments(weight, bias, mean, variance, statistics, eps)
        kernels.channel_sums(chunks, slopes, values, *moments, *mask, totals)
        dbias, dweight = totals.sum(axis=0)
        rows = x.shape[0] if statistics == "batch" else np.inf
        level, tilt = ((total / rows).astype(values.dtype) for total in (dbias, dweight))
        kernels.apply_backward(chunks, slopes, values, *moments, *mask, level, tilt, array(dx))
    return dx, torch.from_numpy(dweight).to(x.dtype), torch.from_numpy(dbias).to(x.dtype)


def _chunk_count(x: Tensor) -> int:
    return min(max(x.numel() >> 16, 1), 64)


def _moments(
    weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, statistics: str, eps: float
) -> tuple[Array, Array, Array, Array]:
    """(mean, rstd, scale, shift) as the kernels take them."""
    rstd = torch.ones_like(variance) if statistics == "none" else (variance.double() + eps).rsqrt().to(variance.dtype)
    return array(mean), array(rstd), array(rstd * weight), array(bias)


def _mask(x: Array, seed: Tensor, relu: bool, dropout: float) -> tuple[Any, ...]:
    """(floor, seed, threshold, gain) as the kernels take them."""
    number = x.dtype.type
    threshold = np.uint32(min(round(dropout * 2**32), 2**32 - 1))
    return number(0 if relu else -np.inf), np.int64(int(seed)), threshold, number(1 / (1 - dropout))


_INPUTS = (
    "Tensor x, Tensor weight, Tensor bias, Tensor mean, Tensor variance, Tensor seed, "
    "str statistics, float eps, bool relu, float dropout"
)

_operator = torch.library.custom_op(
    "deepergcn::norm_relu_dropout",
    _forward,
    mutates_args=(),
    device_types="cpu",
    schema=f"({_INPUTS}) -> (Tensor, Tensor, Tensor)",
)
_backward_operator = torch.library.custom_op(
    "deepergcn::norm_relu_dropout_backward",
    _backward,
    mutates_args=(),
    device_types="cpu",
    schema=f"(Tensor g, {_INPUTS}) -> (Tensor, Tensor, Tensor)",
)


@_operator.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    return out, torch.empty_like(mean), torch.empty_like(variance)


@_backward_operator.register_fake
def _(g: Tensor, x: Tensor, weight: Tensor, bias: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    return torch.empty_like(x, memory_format=torch.contiguous_format), torch.empty_like(weight), torch.empty_like(bias)


def _remember(ctx: Any, inputs: Sequence[Any], output: tuple[Tensor, Tensor, Tensor]) -> None:
    x, weight, bias, _, _, seed, *ctx.options = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, weight, bias, output[1], output[2], seed)


def _differentiate(ctx: Any, g: Tensor | None, *moments: Tensor | None) -> tuple[Tensor | None, ...]:
    if g is None:
        return (None,) * 10
    backward = _backward if is_eager(g) else _backward_operator
    return *backward(g.contiguous(), *ctx.saved_tensors, *ctx.options), *(None,) * 7


_operator.register_autograd(_differentiate, setup_context=_remember)


class _Eager(torch.autograd.Function):
    """The operator without its registration, whose bookkeeping a small batch would feel."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, ...]:
        outputs = _forward(*inputs)
        _remember(ctx, inputs, outputs)
        ctx.mark_non_differentiable(*outputs[1:])
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return _differentiate(ctx, *grads)
