"""beta, p, y and s: a fixed number, a learned scalar, or one learned value a channel."""

import math

import torch
from torch import Tensor, nn

from deepergcn.errors import InputError

Scalar = nn.Parameter | float
"""A parameter where it is learned, a number where it is fixed."""


def scalar(name: str, value: float, learn: bool, channels: int | None = None) -> Scalar:
    """The number ``value``, or a parameter that starts from it: one, or one for each of ``channels``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{name}: expected a finite number, got {value!r}")
    if not learn:
        return float(value)
    if channels is not None and channels < 1:
        raise InputError(f"channels: expected at least 1, or None for one value for all, got {channels}")
    return nn.Parameter(torch.full(() if channels is None else (channels,), float(value)))


def restore(value: Scalar, initial: float) -> None:
    """Put a learned value back to its initial one."""
    if isinstance(value, Tensor):
        nn.init.constant_(value, initial)


def present(value: Scalar) -> float | list[float]:
    """The present value as a plain number, or a list with one number a channel."""
    if not isinstance(value, Tensor):
        return value
    numbers: float | list[float] = value.detach().tolist()
    return numbers
