"""The error for bad input, and how messages quote it."""

from collections.abc import Collection

_LONGEST = 100
_MOST = 20


class InputError(ValueError):
    """Bad input: the message names the file, row or argument, and what was expected."""


class TemporaryError(InputError):
    """An error that need not come again with the same input: a full disk, a process that was killed."""


def quote(found: object) -> str:
    """``repr`` of a value, shortened if it is long."""
    text = repr(found)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def listed(names: Collection[str]) -> str:
    """Names joined for an error message; only the first of many."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(name[:_LONGEST] for name in list(names)[:_MOST]) + more
