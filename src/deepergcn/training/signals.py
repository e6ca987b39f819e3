"""Signals: a run that is asked to stop saves its state and leaves."""

import os
import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children
from pathlib import Path
from types import FrameType

_HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)  # of a closed terminal; a shell may send it twice


class Interrupted(Exception):  # noqa: N818, it is not an error
    """The run was asked to stop and has saved its state."""

    def __init__(self, number: int, folder: Path, when: str) -> None:
        super().__init__(number, folder, when)
        self.number = number
        self.folder = folder
        self.when = when

    def __str__(self) -> str:
        return (
            f"stopped by {signal.Signals(self.number).name} {self.when}; "
            f"all is saved, continue with: deepergcn train --resume --out {shlex.quote(str(self.folder))}"
        )


class Signals:
    """Whether SIGTERM, SIGINT or SIGHUP was received: ``received`` is its number, or 0.

    In the parent of several processes a signal is handed on to them, and they save.
    """

    def __init__(self) -> None:
        self.received = 0

    @contextmanager
    def watched(self) -> Iterator["Signals"]:
        """Record signals instead of terminating; a second signal terminates. Only for the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        numbers = [signal.SIGTERM, signal.SIGINT]
        if _HANGUP is not None and signal.getsignal(_HANGUP) is not signal.SIG_IGN:  # as nohup leaves it
            numbers.append(_HANGUP)
        before = {number: signal.signal(number, self._note) for number in numbers}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received:
            if number == _HANGUP:
                return
            raise KeyboardInterrupt
        self.received = number
        for child in active_children():
            if child.pid is not None and number != signal.SIGINT:
                os.kill(child.pid, number)
