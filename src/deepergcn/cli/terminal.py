"""Output that is safe on any terminal, and that never stops the program when it cannot be written."""

import errno
import logging
import os
import sys
from typing import TextIO

from deepergcn.printable import CleanFormatter, clean

_PLAIN = str.maketrans({"±": "+-", "β": "beta", "…": "..."})


def plain(text: str) -> str:
    """The text in characters that standard output can encode."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return text.translate(_PLAIN)
    return text


def say(text: str, *, err: bool = False) -> None:
    """Print one line; if it cannot be printed because a pipe is closed or a disk is full, the program continues."""
    stream = sys.stderr if err else sys.stdout
    try:
        stream.write(f"{plain(clean(text))}\n")
        stream.flush()
    except (OSError, ValueError) as error:  # ValueError: the stream is closed
        _silence(stream)
        if not err and getattr(error, "errno", None) != errno.EPIPE:
            say(f"warning: standard output cannot be written ({error}); the program continues without it", err=True)


def prepare_streams() -> None:
    """Make standard output and error usable, even if they are closed or have a limited character set."""
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
    """Writes warnings of the library to standard error, one line each."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record), err=True)


def _open_if_closed(descriptor: int) -> None:
    """Open the null device in place of a closed descriptor, so that no file opened later is mistaken for the output."""
    try:
        os.fstat(descriptor)
    except OSError:
        empty = os.open(os.devnull, os.O_RDWR)
        if empty != descriptor:
            os.dup2(empty, descriptor)
            os.close(empty)


def _silence(stream: TextIO) -> None:
    """Discard everything that is still written to this stream, including what is left in its buffer."""
    try:
        with open(os.devnull, "wb") as empty:
            os.dup2(empty.fileno(), stream.fileno())
    except (OSError, ValueError):
        name = "stderr" if stream is sys.stderr else "stdout"
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, open until the end
