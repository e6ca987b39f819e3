"""Normalization, ReLU and dropout of vertex features in one operator, which keeps nothing but its input for backward.

A pre-activation block begins with these three. In PyTorch they are three passes, three stored tensors, and random
numbers that alone can take a fifth of a training step on a CPU; here the dropout mask is a hash, made anew in backward.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from deepergcn.ops.kernels.cpu import norm_relu_dropout as kernels
from deepergcn.ops.kernels.cpu.intrinsics import WIDEST
from deepergcn.ops.operators import device
from deepergcn.ops.operators.aggregation import gradients_of, is_eager, needs_definition
from deepergcn.ops.operators.cpu import Array, array, even_chunks
from deepergcn.ops.path import on_plain_path

Statistics = Literal["none", "row", "batch", "given"]
"""What is normalized by: nothing, each row's moments (layer norm), the batch's (batch norm), or given moments."""

Tensors = tuple[Tensor, Tensor, Tensor]

_quietly = np.errstate(all="ignore")  # what is not finite is for the caller to find, as after PyTorch's own operators


def fits(x: Tensor) -> bool:
    """Whether the operator takes ``x``: [nodes, channels] on a device with kernels, outside of the plain path."""
    return x.dim() == 2 and x.is_floating_point() and 0 < x.shape[1] <= WIDEST and device.has_kernels(x)


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

    The mask is drawn with torch's default generator, the CPU's on every device: the same seed gives the same mask, for
    any number of threads, on a CPU and on a GPU.

    Args:
        x: [nodes, channels].
        statistics: see ``Statistics``.
        weight, bias: [channels], or None for 1 and 0.
        mean, variance: [channels], the given moments.
    """
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    scale, shift, centre, var = (None if t is None else t.to(dtype) for t in (weight, bias, mean, variance))
    if on_plain_path():
        mask = F.dropout(torch.ones_like(x, dtype=dtype), dropout) if dropout > 0 else None
        out, mean, variance = _define(x.to(dtype), scale, shift, centre, var, mask, statistics, eps, relu)
        return out.to(x.dtype), mean.detach(), variance.detach()
    seed = torch.randint(2**63 - 1, ()) if dropout > 0 else None
    stored = x if device.on_gpu(x) else x.to(dtype)
    arguments = (stored, scale, shift, centre, var, seed, statistics, eps, relu, dropout)
    run: Any = _Eager.apply if is_eager(x) else _operator
    out, mean, variance = run(*arguments)
    return out.to(x.dtype), mean, variance


def _define(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    mask: Tensor | None,
    statistics: str,
    eps: float,
    relu: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The definition in PyTorch's own operators; ``mask`` is 0 or 1 / (1 - dropout) for every element of x."""
    centre = x.new_zeros(x.shape[1]) if mean is None else mean
    var = x.new_ones(x.shape[1]) if variance is None else variance
    h = x
    if statistics == "row":
        h = F.layer_norm(x, x.shape[1:], eps=eps)
    elif statistics != "none":
        if statistics == "batch":
            centre, var = x.mean(dim=0), x.var(dim=0, correction=0)
        h = (x - centre) * torch.rsqrt(var + eps)
    h = h if weight is None else h * weight
    h = h if bias is None else h + bias
    h = h.relu() if relu else h
    return (h if mask is None else h * mask), centre, var


def _kernels(x: Tensor) -> tuple[Callable[..., Tensors], Callable[..., Tensors]]:
    """Forward and backward on the device of ``x``."""
    if not device.on_gpu(x):
        return _forward, _backward
    module = device.gpu_kernels("norm_relu_dropout")
    return module.forward, module.backward


@_quietly
def _forward(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    seed: Tensor | None,
    statistics: str,
    eps: float,
    relu: bool,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor]:
    values, chunks = array(x), _chunk_count(x)
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    mask = _mask(values, seed, relu, dropout)
    scale, shift = _filled(weight, values, 1), _filled(bias, values, 0)
    centre, var = _filled(mean, values, 0, copy=True), _filled(variance, values, 1, copy=True)
    if statistics == "row":
        kernels.layer(chunks, values, scale, shift, values.dtype.type(eps), *mask, array(out))
    else:
        if statistics == "batch":
            totals = np.zeros((chunks, 2, x.shape[1]))
            kernels.moments(chunks, values, totals)
            first, second = totals.sum(axis=0) / x.shape[0]
            centre = (first + values[0]).astype(values.dtype) if x.shape[0] else first.astype(values.dtype)
            var = np.maximum(second - first * first, 0).astype(values.dtype)
        kernels.apply(chunks, values, centre, _rstd(var, statistics, eps) * scale, shift, *mask, array(out))
    return out, torch.from_numpy(centre), torch.from_numpy(var)


@_quietly
def _backward(
    g: Tensor,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    seed: Tensor | None,
    statistics: str,
    eps: float,
    relu: bool,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of x, weight and bias."""
    values, slopes, chunks = array(x), array(g), _chunk_count(x)
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    mask = _mask(values, seed, relu, dropout)
    scale, shift = _filled(weight, values, 1), _filled(bias, values, 0)
    totals = np.zeros((chunks, 2, x.shape[1]))
    if statistics == "row":
        kernels.layer_backward(chunks, slopes, values, scale, shift, values.dtype.type(eps), *mask, array(dx), totals)
        dbias, dweight = totals.sum(axis=0)
    else:
        rstd = _rstd(array(variance), statistics, eps)
        moments = (array(mean), rstd, rstd * scale)
        kernels.gate(chunks, slopes, values, *moments, shift, *mask, array(dx), totals)
        dbias, dweight = totals.sum(axis=0)
        rows = x.shape[0] if statistics == "batch" else np.inf
        level, tilt = ((total / rows).astype(values.dtype) for total in (dbias, dweight))
        kernels.unscale(chunks, values, *moments, level, tilt, array(dx))
    dweight, dbias = (torch.from_numpy(total.astype(values.dtype)) for total in (dweight, dbias))
    return dx, dweight, dbias


def _chunk_count(x: Tensor) -> int:
    return even_chunks(x.numel(), 1 << 16)


def _filled(given: Tensor | None, x: Array, otherwise: float, copy: bool = False) -> Array:
    """A number for every channel of ``x``: the given ones, or the same for all."""
    if given is None:
        return np.full(x.shape[1], otherwise, x.dtype)
    return array(given).copy() if copy else array(given)


def _rstd(variance: Array, statistics: str, eps: float) -> Array:
    """1 / sqrt(variance + eps), taken in float64; 1 where nothing is normalized."""
    if statistics == "none":
        return np.ones_like(variance)
    inverse: Array = (1 / np.sqrt(variance.astype(np.float64) + eps)).astype(variance.dtype)
    return inverse


def _mask(x: Array, seed: Tensor | None, relu: bool, dropout: float) -> tuple[Any, ...]:
    """(floor, seed, threshold, gain) as the kernels take them."""
    number = x.dtype.type
    threshold = np.uint32(min(round(dropout * 2**32), 2**32 - 1))
    key = np.int64(0 if seed is None else int(seed))
    return number(0 if relu else np.nan), key, threshold, number(1 / (1 - dropout))


_INPUTS = (
    "Tensor x, Tensor? weight, Tensor? bias, {moments}, Tensor? seed, "
    "str statistics, float eps, bool relu, float dropout"
)

_operator = torch.library.custom_op(
    "deepergcn::norm_relu_dropout",
    _forward,
    mutates_args=(),
    device_types="cpu",
    schema=f"({_INPUTS.format(moments='Tensor? mean, Tensor? variance')}) -> (Tensor, Tensor, Tensor)",
)
_backward_operator = torch.library.custom_op(
    "deepergcn::norm_relu_dropout_backward",
    _backward,
    mutates_args=(),
    device_types="cpu",
    schema=f"(Tensor g, {_INPUTS.format(moments='Tensor mean, Tensor variance')}) -> (Tensor, Tensor, Tensor)",
)

_operator.register_kernel("cuda", lambda x, *rest: _kernels(x)[0](x, *rest))
_backward_operator.register_kernel("cuda", lambda g, x, *rest: _kernels(x)[1](g, x, *rest))


def _like_row(x: Tensor) -> Tensor:
    return x.new_empty(x.shape[1], dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)


@_operator.register_fake
def _(x: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    return torch.empty_like(x, memory_format=torch.contiguous_format), _like_row(x), _like_row(x)


@_backward_operator.register_fake
def _(g: Tensor, x: Tensor, *rest: Any) -> tuple[Tensor, ...]:
    return torch.empty_like(x, memory_format=torch.contiguous_format), _like_row(x), _like_row(x)


def _remember(ctx: Any, inputs: Sequence[Any], output: tuple[Tensor, Tensor, Tensor]) -> None:
    x, weight, bias, _, _, seed, *ctx.options = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, weight, bias, output[1], output[2], seed)


def _differentiate(ctx: Any, g: Tensor | None, *moments: Tensor | None) -> tuple[Tensor | None, ...]:
    if g is None:
        return (None,) * 10
    saved = ctx.saved_tensors
    if needs_definition():
        return *_by_definition(g, *saved, *ctx.options), *(None,) * 7
    backward = _kernels(saved[0])[1] if is_eager(g) else _backward_operator
    dx, dweight, dbias = backward(g.contiguous(), *saved, *ctx.options)
    _, weight, bias, *_ = saved
    return dx, None if weight is None else dweight, None if bias is None else dbias, *(None,) * 7


def _by_definition(
    g: Tensor,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    seed: Tensor | None,
    statistics: str,
    eps: float,
    relu: bool,
    dropout: float,
) -> list[Tensor | None]:
    """The gradients of x, weight and bias, themselves differentiable, for the mask that forward drew."""
    with torch.no_grad():
        ones = torch.ones_like(x)
        mask = None if seed is None else _operator(ones, None, None, None, None, seed, "none", eps, False, dropout)[0]

    def function(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        return _define(x, weight, bias, mean, variance, mask, statistics, eps, relu)[0]

    return gradients_of(function, (x, weight, bias), g)


_operator.register_autograd(_differentiate, setup_context=_remember)


class _Eager(torch.autograd.Function):
    """The operator without its registration, whose bookkeeping a small batch would feel."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, ...]:
        outputs = _kernels(inputs[0])[0](*inputs)
        _remember(ctx, inputs, outputs)
        ctx.mark_non_differentiable(*outputs[1:])
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return _differentiate(ctx, *grads)
