"""Normalization, ReLU and dropout of vertex features in one operator, which keeps nothing but its input for backward.

A pre-activation block begins with these three. In PyTorch they are three passes, three stored tensors, and random
numbers that alone can take a fifth of a training step on a CPU; here the dropout mask is a hash, made anew in backward.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from deepergcn.ops.kernels import normalization
from deepergcn.ops.kernels.cpu import norm_relu_dropout as kernels
from deepergcn.ops.kernels.cpu.machine.arrays import WIDEST
from deepergcn.ops.kernels.normalization import Mask, Norm, Passes
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
    seed = torch.randint(2**63 - 1, (), device="cpu") if dropout > 0 else None
    stored = x if device.on_gpu(x) else x.to(dtype)
    arguments = (stored, scale, shift, centre, var, seed, statistics, eps, relu, dropout)
    run: Any = _Eager.apply if is_eager(x) else _operator
    out, mean, variance = run(*arguments)
    return out.to(x.dtype), mean, variance


def norm_relu_and_sums(
    x: Tensor, mean: Array, scale: Array, shift: Array, ptr: Tensor, *, relu: bool = True, sums: bool = True
) -> tuple[Tensor, Tensor]:
    """ReLU((x - mean) scale + shift) of float32 rows on a CPU, and its sums over the rows of every graph.

    Args:
        x: [nodes, channels].
        mean, scale, shift: float32 [channels].
        ptr: int64 [graphs + 1], where the nodes of every graph begin.
        relu: whether there is a ReLU.
        sums: whether the sums [graphs, channels] are wanted; else they have no rows.
    """
    out, totals = torch.empty_like(x), x.new_empty(len(ptr) - 1 if sums else 0, x.shape[1])
    floor = np.float32(0 if relu else np.nan)
    chunks = 1 if torch.get_num_threads() == 1 else _chunk_count(x)  # no result depends on the chunks
    kernels.apply_and_add(chunks, array(ptr), array(x), mean, scale, shift, floor, array(out), array(totals))
    return out, totals


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


class _OnCPU:
    """The passes of ``kernels.normalization`` on a CPU."""

    def moments(self, x: Tensor) -> Tensor:
        totals = _totals(x)
        kernels.moments(len(totals), array(x), totals)
        return torch.from_numpy(totals.sum(axis=0))

    def apply(self, x: Tensor, norm: Norm, mask: Mask, out: Tensor) -> None:
        values, chunks = array(x), _chunk_count(x)
        scale, shift, drop = array(norm.weight), array(norm.bias), _drop(values, mask)
        if norm.statistics == "row":
            kernels.layer(chunks, values, scale, shift, values.dtype.type(norm.eps), *drop, array(out))
        else:
            kernels.apply(chunks, values, array(norm.mean), array(norm.rstd) * scale, shift, *drop, array(out))

    def sums(self, g: Tensor, x: Tensor, norm: Norm, mask: Mask, dx: Tensor) -> Tensor:
        values, totals = array(x), _totals(x)
        moments, drop = _moments(norm), _drop(values, mask)
        kernels.gate(len(totals), array(g), values, *moments, array(norm.bias), *drop, array(dx), totals)
        return torch.from_numpy(totals.sum(axis=0))

    def slopes(self, g: Tensor, x: Tensor, norm: Norm, mask: Mask, level: Tensor, tilt: Tensor, dx: Tensor) -> None:
        kernels.unscale(_chunk_count(x), array(x), *_moments(norm), array(level), array(tilt), array(dx))

    def both(self, g: Tensor, x: Tensor, norm: Norm, mask: Mask, dx: Tensor) -> Tensor:
        if norm.statistics != "row":
            found = self.sums(g, x, norm, mask, dx)
            dx.mul_(norm.rstd * norm.weight)  # not by slopes: 0 times an infinite x is NaN
            return found
        values, totals = array(x), _totals(x)
        affine = (array(norm.weight), array(norm.bias), values.dtype.type(norm.eps))
        kernels.layer_backward(len(totals), array(g), values, *affine, *_drop(values, mask), array(dx), totals)
        return torch.from_numpy(totals.sum(axis=0))


_ON_CPU = _OnCPU()


def passes_of(x: Tensor) -> Passes:
    """The passes of the device of ``x``."""
    passes: Passes = device.gpu_kernels("norm_relu_dropout") if device.on_gpu(x) else _ON_CPU
    return passes


@_quietly
def _forward(x: Tensor, *rest: Any) -> Tensors:
    return normalization.forward(passes_of(x), x, *rest)


@_quietly
def _backward(g: Tensor, x: Tensor, *rest: Any) -> Tensors:
    return normalization.backward(passes_of(x), g, x, *rest)


def _chunk_count(x: Tensor) -> int:
    return even_chunks(x.numel(), 1 << 16)


def _totals(x: Tensor) -> Array:
    """Two sums a chunk and channel."""
    return np.zeros((_chunk_count(x), 2, x.shape[1]))


def _moments(norm: Norm) -> tuple[Array, Array, Array]:
    """(mean, rstd, scale) as the kernels of backward take them."""
    rstd = array(norm.rstd)
    return array(norm.mean), rstd, rstd * array(norm.weight)


def _drop(x: Array, mask: Mask) -> tuple[Any, ...]:
    """(floor, seed, threshold, gain) as the kernels take them."""
    number = x.dtype.type
    return number(0 if mask.relu else np.nan), np.int64(mask.seed), np.uint32(mask.threshold), number(mask.gain)


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

_operator.register_kernel("cuda", _forward)
_backward_operator.register_kernel("cuda", _backward)


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
    backward = _backward if is_eager(g) else _backward_operator
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
        outputs = _forward(*inputs)
        _remember(ctx, inputs, outputs)
        ctx.mark_non_differentiable(*outputs[1:])
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return _differentiate(ctx, *grads)
