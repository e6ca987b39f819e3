"""The lock of a run directory: one process trains in it at a time."""

import errno
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from deepergcn.data.storage.files import remove_abandoned
from deepergcn.data.storage.source_files import check_name
from deepergcn.errors import InputError
from deepergcn.runs.run import FILES, FOLDERS

_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP}


def wait_until_free(folder: Path, seconds: float) -> None:
    """Wait, for no longer than this, until no process trains in a run directory."""
    path = folder / "lock"
    if path.is_file():
        with suppress(Timeout, OSError), FileLock(path, timeout=seconds, fallback_to_soft=False):
            pass


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run directory; the operating system releases it however the process ends.

    Half-written files of a killed process are removed.
    """
    check_name(folder, "folder")
    path = folder / "lock"
    lock = FileLock(path, timeout=0, fallback_to_soft=False)
    try:
        made, fresh = not folder.exists(), not path.exists()
        if not made and not folder.is_dir():
            raise InputError(f"{folder}: is a file; expected a folder for the run")
        folder.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or (path.exists() and not stat.S_ISREG(path.stat().st_mode)):
            raise InputError(f"{path}: is not a regular file; expected the lock file of a run, or no such file")
        lock.acquire()
    except Timeout as error:
        raise InputError(f"{folder}: another process is training in this directory") from error
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise InputError(
                f"{folder}: its file system does not support locks (flock: {error.strerror}); expected a run directory "
                "on one that does, such as a local disk"
            ) from error
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    try:
        remove_abandoned(folder, set(FILES), age=0)
        for inner in FOLDERS:
            remove_abandoned(folder / inner, age=0)
        yield
    finally:
        with suppress(OSError):  # an error of the run is not to be hidden by one of its directory
            if fresh and not (folder / "run.json").exists():  # no run has begun
                path.unlink()
                if made:
                    folder.rmdir()
        lock.release()
