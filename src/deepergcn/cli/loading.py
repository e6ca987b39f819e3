"""Loading of modules and models, which stay in memory until the program ends."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from deepergcn.waiting import wait_asleep_if_busy


class _Process:
    """Whether this process runs the program alone, unlike, for example, tests that call it many times."""

    is_program = False
    waits_asleep = False


@contextmanager
def loading() -> Iterator[None]:
    """Disable the garbage collector while modules and a model are loaded: it would scan them again and again.

    Imports take a fifth less time. In the program itself these objects are never scanned again.
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
    """Declare that this process runs the program alone; called before torch is loaded."""
    _Process.is_program = True
    _Process.waits_asleep = wait_asleep_if_busy()


def waits_asleep() -> bool:
    """Whether the threads of this process wait asleep, since the machine was busy when it started."""
    return _Process.waits_asleep
