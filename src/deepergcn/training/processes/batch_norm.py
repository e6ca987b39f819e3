"""Batch normalization over the batches of all processes, on any device; torch's own is for GPUs alone."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from deepergcn.nn.norms import BatchNorm
from deepergcn.ops import norm_relu_dropout as ops
from deepergcn.ops.kernels import normalization
from deepergcn.training.processes.exchange import gather


class _Normalize(torch.autograd.Function):
    """Normalization by the mean and variance over all processes, with one exchange forward and one backward.

    Every process tells its count n_i, its mean mu_i and its sum of squares S_i about it (Chan et al. 1979):

        n = sum n_i,    mu = sum n_i mu_i / n,    sigma^2 = sum (S_i + n_i (mu_i - mu)^2) / n

    With y = (x - mu) / sigma and the gradient g of gamma y + beta, backward needs the sums of g and of g y:

        dx = gamma / sigma (g - sum g / n - y sum (g y) / n)
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        wide = x.double()
        centre = wide.mean(0)
        mean, variance, count = _over_processes(centre, (wide - centre).square().sum(0), len(x))
        scale = (variance + eps).rsqrt().to(weight.dtype)
        y = (x - mean.to(weight.dtype)) * scale
        ctx.save_for_backward(y, weight, scale, count.to(weight.dtype))
        ctx.dtype = x.dtype
        ctx.mark_non_differentiable(mean, variance, count)
        return torch.addcmul(bias, y, weight).to(x.dtype), mean, variance, count

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        y, weight, scale, count = ctx.saved_tensors
        g = grads[0].to(weight.dtype)
        mine = torch.stack((g.sum(0), (g * y).sum(0)))
        total = gather(mine).sum(0)
        dx = weight * scale * (g - total[0] / count - y * (total[1] / count))
        return dx.to(ctx.dtype), mine[1], mine[0], None


class _NormReluDropout(torch.autograd.Function):
    """The same with ReLU and dropout, by the passes of ``ops.norm_relu_dropout``, which keep only their input."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, relu: bool, dropout: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        x, passes, rows = x.contiguous(), ops.passes_of(x), len(x)
        first, second = passes.moments(x) / max(rows, 1)
        centre = first + (x[0].double() if rows else 0)
        mean, variance, count = _over_processes(centre, rows * (second - first * first).clamp(min=0), rows)
        seed = torch.randint(2**63 - 1, (), device="cpu") if dropout > 0 else None
        norm = normalization.norm_of(x, weight, bias, mean.to(weight), variance.to(weight), "batch", eps)
        ctx.mask, out = normalization.mask_of(seed, relu, dropout), torch.empty_like(x)
        passes.apply(x, norm, ctx.mask, out)
        ctx.save_for_backward(x, weight, bias, mean, variance, count)
        ctx.eps = eps
        ctx.mark_non_differentiable(mean, variance, count)
        return out, mean, variance, count

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, mean, variance, count = ctx.saved_tensors
        g, dx, passes = grads[0].contiguous(), torch.empty_like(x), ops.passes_of(x)
        norm = normalization.norm_of(x, weight, bias, mean.to(weight), variance.to(weight), "batch", ctx.eps)
        mine = passes.sums(g, x, norm, ctx.mask, dx)
        total = gather(mine).sum(0)
        level, tilt = (total / count).to(weight.dtype)
        passes.slopes(g, x, norm, ctx.mask, level, tilt, dx)
        dbias, dweight = (found.to(weight.dtype) for found in mine)
        return dx, dweight, dbias, None, None, None


def _over_processes(mean: Tensor, squares: Tensor, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, variance and number of the rows of all processes, each [channels], from those of this one."""
    means, every, counts = gather(torch.stack((mean, squares, torch.full_like(mean, rows)))).unbind(1)
    count = counts.sum(0)
    middle = (counts * means).sum(0) / count
    return middle, (every + counts * (means - middle).square()).sum(0) / count, count


class SynchronizedBatchNorm(_BatchNorm):
    """Batch normalization with mean and variance over the rows of all processes.

    Args:
        norm: the normalization whose weights and statistics it takes over.
    """

    def __init__(self, norm: BatchNorm) -> None:
        super().__init__(norm.num_features, eps=norm.eps, momentum=norm.momentum)
        self.weight, self.bias = norm.weight, norm.bias
        self.running_mean, self.running_var = norm.running_mean, norm.running_var
        self.num_batches_tracked = norm.num_batches_tracked

    def forward(self, input: Tensor) -> Tensor:
        if not self.training:
            return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        found = _Normalize.apply(input, self.weight, self.bias, self.eps)  # type: ignore[no-untyped-call]
        out, mean, variance, count = found
        self._track(mean, variance * count / (count - 1).clamp(min=1))
        normalized: Tensor = out
        return normalized

    def norm_relu_dropout(self, x: Tensor, relu: bool, dropout: float) -> Tensor:
        """dropout(ReLU(norm(x))) in one operator."""
        if not self.training:
            moments = {"mean": self.running_mean, "variance": self.running_var}
            out, _, _ = ops.norm_relu_dropout(
                x, "given", self.weight, self.bias, eps=self.eps, relu=relu, dropout=dropout, **moments
            )
            return out
        given = x if x.dtype == self.weight.dtype else x.to(self.weight.dtype)
        found = _NormReluDropout.apply(given, self.weight, self.bias, self.eps, relu, dropout)  # type: ignore[no-untyped-call]
        out, mean, variance, count = found
        self._track(mean, variance * count / (count - 1).clamp(min=1))
        done: Tensor = out.to(x.dtype)
        return done

    def _track(self, mean: Tensor, variance: Tensor) -> None:
        if self.momentum is None or self.running_mean is None or self.running_var is None:
            return  # activations are computed again, and count once
        self.running_mean.lerp_(mean.to(self.running_mean), self.momentum)
        self.running_var.lerp_(variance.to(self.running_var), self.momentum)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)


def synchronize(model: nn.Module) -> None:
    """Let every batch normalization of the model see the batches of all processes."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, BatchNorm):
                setattr(parent, name, SynchronizedBatchNorm(child))
