"""The one error for what a user can put right, and how it shows what was found."""

from collections.abc import Collection

_LONGEST = 100
_MOST = 20


class InputError(ValueError):
    """Bad input: the message names the file, the row or the argument, and what was expected."""


def quote(found: object) -> str:
    """What was found, in quotes and cut where it is long."""
    text = repr(found)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def listed(names: Collection[str]) -> str:
    """Names for an error message, the first of many."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(name[:_LONGEST] for name in list(names)[:_MOST]) + more
