"""Normalization, ReLU and dropout, which precede the convolution in a pre-activation block."""

from importlib.util import find_spec
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn.nn.norms import BatchNorm
from deepergcn.nn.unchanged import is_unchanged

if find_spec("numba"):
    from deepergcn.ops import norm_relu_dropout as ops
else:
    ops = None  # type: ignore[assignment]


@runtime_checkable
class DoesAll(Protocol):
    """A normalization that does all three in one operator of its own."""

    def norm_relu_dropout(self, x: Tensor, relu: bool, dropout: float) -> Tensor: ...


def norm_relu_dropout(norm: nn.Module | None, x: Tensor, p: float, training: bool, relu: bool = True) -> Tensor:
    """dropout_p(ReLU(norm(x))); ``norm`` may be None, and ``relu=False`` leaves out the ReLU.

    On a CPU or a GPU this is one operator for batch and layer normalization; elsewhere, and for other norms, PyTorch's
    three. A norm that a user has changed, by a subclass or a hook (as pruning has one), is such another norm.
    """
    dropout = p if training else 0.0
    if ops is not None and ops.fits(x) and is_unchanged(norm):
        if isinstance(norm, DoesAll):
            return norm.norm_relu_dropout(x, relu, dropout)
        if norm is None:
            return ops.norm_relu_dropout(x, "none", relu=relu, dropout=dropout)[0]
        if type(norm) is nn.LayerNorm and norm.normalized_shape == (x.shape[1],):
            return ops.norm_relu_dropout(x, "row", norm.weight, norm.bias, eps=norm.eps, relu=relu, dropout=dropout)[0]
        if (
            isinstance(norm, nn.BatchNorm1d)
            and type(norm) in (nn.BatchNorm1d, BatchNorm)
            and norm.num_features == x.shape[1]
        ):
            return _batch_norm(norm, x, relu, dropout)
    if norm is not None:
        x = norm(x)
    if relu:
        x = F.relu(x)
    return F.dropout(x, p, training)


def _batch_norm(norm: nn.BatchNorm1d, x: Tensor, relu: bool, dropout: float) -> Tensor:
    """Batch normalization by the batch's moments in training, by the running moments otherwise.

    A batch of fewer than two vertices has no variance: it uses the running moments and does not update them.
    """
    rows = x.shape[0]
    if norm.running_mean is None or norm.running_var is None:
        out, _, _ = ops.norm_relu_dropout(x, "batch", norm.weight, norm.bias, eps=norm.eps, relu=relu, dropout=dropout)
        return out
    if not norm.training or rows < 2:
        out, _, _ = ops.norm_relu_dropout(
            x,
            "given",
            norm.weight,
            norm.bias,
            eps=norm.eps,
            mean=norm.running_mean,
            variance=norm.running_var,
            relu=relu,
            dropout=dropout,
        )
        return out
    out, mean, variance = ops.norm_relu_dropout(
        x, "batch", norm.weight, norm.bias, eps=norm.eps, relu=relu, dropout=dropout
    )
    factor = 0.0 if norm.momentum is None else norm.momentum
    if norm.num_batches_tracked is not None:
        norm.num_batches_tracked.add_(1)
        if norm.momentum is None:
            factor = 1.0 / float(norm.num_batches_tracked)
    with torch.no_grad():
        norm.running_mean.lerp_(mean.to(norm.running_mean.dtype), factor)
        norm.running_var.lerp_(variance.to(norm.running_var.dtype) * (rows / (rows - 1)), factor)
    return out
