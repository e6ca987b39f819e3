"""Progress hooks, called during long operations."""

from collections.abc import Callable

ProgressHook = Callable[[int, int | None], None]
"""Called with the amount done, in bytes or molecules, and the total; None if the total is unknown."""
