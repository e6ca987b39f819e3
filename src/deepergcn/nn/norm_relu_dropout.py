"""Normalization, ReLU and dropout: what stands before the convolution in a pre-activation block."""

from torch import Tensor, nn
from torch.nn import functional as F


def norm_relu_dropout(norm: nn.Module | None, x: Tensor, p: float, training: bool, relu: bool = True) -> Tensor:
    """dropout_p(ReLU(norm(x))); without a norm where it is None, without ReLU where ``relu`` is False."""
    if norm is not None:
        x = norm(x)
    if relu:
        x = F.relu(x)
    return F.dropout(x, p, training)
