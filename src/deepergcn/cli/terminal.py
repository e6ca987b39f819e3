"""What the program says: safe on any terminal, and no reason to stop where nobody listens any more."""

import errno
import logging
import os
import sys
from typing import TextIO

from deepergcn.printable import CleanFormatter, clean

_PLAIN = str.maketrans({"±": "+-", "β": "beta", "…": "..."})


def plain(text: str) -> str:
    """The text in characters that standard output has."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return text.translate(_PLAIN)
    return text


def say(text: str, *, err: bool = False) -> None:
    """Print one line; where it cannot be printed, because a pipe is closed or a disk full, the program goes on."""
    stream = sys.stderr if err else sys.stdout
    try:
        stream.write(f"{plain(clean(text))}\n")
        stream.flush()
    except (OSError, ValueError) as error:  # ValueError: the stream is closed
        _silence(stream)
        if not err and getattr(error, "errno", None) != errno.EPIPE:
            say(f"warning: standard output cannot be written ({error}); the program goes on without it", err=True)


def prepare_streams() -> None:
    """Make standard output and error usable, also where they are closed or know few characters."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        _open_if_closed(descriptor)
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, open until the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    logger = logging.getLogger("deepergcn")
    if not any(isinstance(handler, _Warnings) for handler in logger.handlers):
        handler = _Warnings(logging.WARNING)
        handler.setFormatter(CleanFormatter())
        logger.addHandler(handler)


class _Warnings(logging.Handler):
    """Warnings of the library, a line each on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record), err=True)


def _open_if_closed(descriptor: int) -> None:
    """Put the empty device where nothing is, so that no file that is opened later is taken for the output."""
    try:
        os.fstat(descriptor)
    except OSError:
        empty = os.open(os.devnull, os.O_RDWR)
        if empty != descriptor:
            os.dup2(empty, descriptor)
            os.close(empty)


def _silence(stream: TextIO) -> None:
    """Let all that follows on this stream, and what is left in its buffer, go nowhere."""
    try:
        with open(os.devnull, "wb") as empty:
            os.dup2(empty.fileno(), stream.fileno())
    except (OSError, ValueError):
        name = "stderr" if stream is sys.stderr else "stdout"
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, open until the end
