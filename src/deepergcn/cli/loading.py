"""The start of a command: modules and a model, which stay until the program ends."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from deepergcn.waiting import wait_asleep_if_busy


class _Process:
    """Whether this process is the program alone, and not, say, that of tests that call it many times."""

    is_program = False
    waits_asleep = False


@contextmanager
def loading() -> Iterator[None]:
    """Within it the garbage collector rests: it would look through all that was loaded again and again.

    Importing takes a fifth less time so. In the program itself it never looks through these objects again.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        if _Process.is_program:
            gc.freeze()
    finally:
        gc.enable()


def own_process() -> None:
    """Say that this process is the program alone, before torch is loaded."""
    _Process.is_program = True
    _Process.waits_asleep = wait_asleep_if_busy()


def waits_asleep() -> bool:
    """Whether the threads of this process wait asleep, since the machine was busy when it started."""
    return _Process.waits_asleep
