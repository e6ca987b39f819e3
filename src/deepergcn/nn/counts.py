"""Checks of the sizes that modules are built with."""

from numbers import Integral, Real
from typing import Any

from deepergcn.errors import InputError


def check_counts(**counts: Any) -> None:
    """Check numbers of channels, layers and the like, by the names of their arguments: integers of at least 1."""
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise InputError(f"{name}: expected an integer of at least 1, got {value!r}")
        if int(value) < 1:
            raise InputError(f"{name}: expected at least 1, got {value}")


def is_number(value: Any) -> bool:
    """Whether ``value`` is a real number, of Python's or NumPy's."""
    return isinstance(value, Real)
