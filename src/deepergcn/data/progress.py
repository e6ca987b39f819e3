"""Progress hooks: functions that are called while something long is done."""

from collections.abc import Callable

ProgressHook = Callable[[int, int | None], None]
"""Called with the amount done, in bytes or molecules, and with the total; None where the total is not known."""
