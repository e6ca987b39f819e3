"""Batch normalization over the batches of all processes, on any device; torch's own is for GPUs alone."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from deepergcn.nn.norms import BatchNorm


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
        mean = wide.mean(0)
        mine = torch.stack((mean, (wide - mean).square().sum(0), torch.full_like(mean, len(x))))
        told = [torch.empty_like(mine) for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather(told, mine)
        means, squares, counts = torch.stack(told).unbind(1)
        count = counts.sum(0)
        mean = (counts * means).sum(0) / count
        variance = (squares + counts * (means - mean).square()).sum(0) / count
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
        total = mine.clone()
        torch.distributed.all_reduce(total)
        dx = weight * scale * (g - total[0] / count - y * (total[1] / count))
        return dx.to(ctx.dtype), mine[1], mine[0], None


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
