"""One hostile input."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes:
        kind: what is damaged.
        folder: its own, in which it runs.
        door: the ``program``, or the ``library``, which reads a dataset.
        arguments: of the program; or ``source``, ``edges``, ``graphs`` and ``options``.
    """

    kind: str
    folder: Path
    door: Literal["program", "library"]
    arguments: Any


def argument(text: str) -> str:
    """Text as an argument, which has no NUL."""
    return text.replace("\0", "\\0")
