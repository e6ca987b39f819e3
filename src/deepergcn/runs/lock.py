"""The lock of a run directory: one process trains in it at a time."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deepergcn.errors import InputError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run directory; the system gives it back however the process ends."""
    path = folder / "lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    with file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(f"{folder}: another process is training in this directory") from error
        try:
            yield
        finally:
            if [entry.name for entry in folder.iterdir()] == [path.name]:  # nothing came of it
                path.unlink()
                folder.rmdir()
