"""beta, p, y and s: a fixed number, a learned scalar, or one learned value per channel."""

import math
from numbers import Integral

import torch
from torch import Tensor, nn

from deepergcn.errors import InputError

_MOST = torch.finfo(torch.float32).max

Scalar = nn.Parameter | float
"""A parameter if learned, a number if fixed."""


def scalar(name: str, value: float, learn: bool, channels: int | None = None) -> Scalar:
    """The number ``value``, or a parameter with this initial value: a scalar, or one value per channel."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name}: expected a finite number, got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name}: expected a finite number, got {value!r}")
    if abs(value) > _MOST:
        raise InputError(f"{name}: expected a number that float32 can hold, got {value!r}")
    if not learn:
        return float(value)
    if channels is not None and (not isinstance(channels, Integral) or channels < 1):
        raise InputError(f"channels: expected at least 1, or None for one value for all, got {channels}")
    return nn.Parameter(torch.full(() if channels is None else (channels,), float(value)))


def restore(value: Scalar, initial: float) -> None:
    """Reset a learned value to its initial value."""
    if isinstance(value, Tensor):
        nn.init.constant_(value, initial)


def present(value: Scalar) -> float | list[float]:
    """The current value as a number, or a list with one number per channel."""
    if not isinstance(value, Tensor):
        return value
    numbers: float | list[float] = value.detach().tolist()
    return numbers
