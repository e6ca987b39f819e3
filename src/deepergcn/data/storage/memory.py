"""Refuse what does not fit into the memory of this machine, before allocating it."""

import os

from deepergcn.errors import InputError


def check_memory(needed: int, what: str) -> None:
    """Raise an error if ``what`` needs more bytes than this machine has."""
    if needed > _physical_memory():
        raise InputError(f"{what}: needs {needed / 1e9:,.0f} GB of memory; this machine has less")


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # an operating system that does not say
        return 1 << 40
