"""Norm-ReLU-dropout around the passes of a device over the nodes: all of it that is the same on every device."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from deepergcn.ops.kernels.recycled import empty


class Norm(NamedTuple):
    """(x - mean) rstd weight + bias, all of them [channels]; the mean and rstd of ``row`` are each row's own."""

    statistics: str
    eps: float
    mean: Tensor
    rstd: Tensor
    weight: Tensor
    bias: Tensor


class Mask(NamedTuple):
    """ReLU, if asked for, then dropout: a number stays, times ``gain``, where its hash reaches ``threshold``."""

    relu: bool
    seed: int
    threshold: int
    gain: float


class Passes(Protocol):
    """What a device has: passes over the rows of x. With dh the gradient of norm(x), and unit = (x - mean) rstd,

    ``moments`` gives the sums of x - x[0] and of its square over all rows, float64 [2, channels];
    ``apply`` fills out = dropout(ReLU(norm(x)));
    ``sums`` gives the sums of dh and of dh unit over all rows, float64 [2, channels], and may keep dh in dx;
    ``slopes`` then fills dx = rstd weight (dh - level - tilt unit), where level and tilt are their means;
    ``both`` gives the sums and fills dx where nothing is normalized by the batch.
    """

    def moments(self, x: Tensor) -> Tensor: ...

    def apply(self, x: Tensor, norm: Norm, mask: Mask, out: Tensor) -> None: ...

    def sums(self, g: Tensor, x: Tensor, norm: Norm, mask: Mask, dx: Tensor) -> Tensor: ...

    def slopes(self, g: Tensor, x: Tensor, norm: Norm, mask: Mask, level: Tensor, tilt: Tensor, dx: Tensor) -> None: ...

    def both(self, g: Tensor, x: Tensor, norm: Norm, mask: Mask, dx: Tensor) -> Tensor: ...


def forward(
    passes: Passes,
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
    """out, and the mean and the (biased) variance that a batch norm used."""
    x = x.contiguous()
    rows, number = x.shape[0], _number_of(x)
    centre, var = (_filled(t, x, fill).clone() for t, fill in ((mean, 0), (variance, 1)))
    if statistics == "batch":
        first, second = passes.moments(x) / rows
        origin = x[0].double() if rows else torch.zeros_like(first)
        centre, var = (first + origin).to(number), (second - first * first).clamp(min=0).to(number)
    out = empty(x, *x.shape)
    norm = norm_of(x, weight, bias, centre, var, statistics, eps)
    passes.apply(x, norm, mask_of(seed, relu, dropout), out)
    return out, centre, var


def backward(
    passes: Passes,
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
    g, x = g.contiguous(), x.contiguous()
    number, dx = _number_of(x), empty(x, *x.shape)
    norm, mask = norm_of(x, weight, bias, mean, variance, statistics, eps), mask_of(seed, relu, dropout)
    if statistics == "batch":
        totals = passes.sums(g, x, norm, mask, dx)
        level, tilt = (totals / max(x.shape[0], 1)).to(number)
        passes.slopes(g, x, norm, mask, level, tilt, dx)
    else:
        totals = passes.both(g, x, norm, mask, dx)
    dbias, dweight = (total.to(number, copy=True) for total in totals)  # an operator's results share no memory
    return dx, dweight, dbias


def _number_of(x: Tensor) -> torch.dtype:
    """The type of weights and moments: float64 for float64, else float32."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _filled(given: Tensor | None, x: Tensor, otherwise: float) -> Tensor:
    """A number for every channel of ``x``: the given ones, or the same for all."""
    if given is None:
        return x.new_full((x.shape[1],), otherwise, dtype=_number_of(x))
    return given.to(_number_of(x)).contiguous()


def norm_of(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    statistics: str,
    eps: float,
) -> Norm:
    """The normalization of x by these moments."""
    scale, shift = _filled(weight, x, 1), _filled(bias, x, 0)
    if statistics in ("none", "row"):
        return Norm(statistics, eps, mean, torch.ones_like(variance), scale, shift)
    rstd = (1 / (variance.double() + eps).sqrt()).to(variance.dtype)
    return Norm(statistics, eps, mean, rstd, scale, shift)


def mask_of(seed: Tensor | None, relu: bool, dropout: float) -> Mask:
    """The mask of ``kernels.contract``; without a seed nothing is dropped."""
    if seed is None:
        return Mask(relu, 0, 0, 1.0)
    return Mask(relu, int(seed), min(round(dropout * 2**32), 2**32 - 1), 1 / (1 - dropout))
