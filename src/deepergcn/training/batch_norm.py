"""Batch normalization over the batches of all processes, on any device; torch's own is for GPUs alone."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from deepergcn.nn.norms import BatchNorm


class SumOverProcesses(torch.autograd.Function):
    """The sum of a tensor over all processes; every process's gradient is the sum of all gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        total = x.clone()
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone()
        torch.distributed.all_reduce(total)
        return total


def _sum_over_processes(x: Tensor) -> Tensor:
    total: Tensor = SumOverProcesses.apply(x)  # type: ignore[no-untyped-call]
    return total


class SynchronizedBatchNorm(_BatchNorm):
    """Batch normalization with mean and variance over the rows of all processes:

    mu = sum x / n,  sigma^2 = sum (x - mu)^2 / n,  both sums and n over all processes.

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
        count = torch.tensor(float(input.shape[0]), device=input.device)
        torch.distributed.all_reduce(count)
        mean = _sum_over_processes(input.sum(0)) / count
        centered = input - mean
        variance = _sum_over_processes(centered.square().sum(0)) / count
        self._track(mean.detach(), variance.detach() * count / (count - 1).clamp(min=1))
        out: Tensor = centered * (variance + self.eps).rsqrt() * self.weight + self.bias
        return out

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
