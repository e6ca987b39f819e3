"""Where the machine code of kernels is kept between two processes.

Numba loads it with pickle: whoever can write it can run code. It is kept only in a folder that belongs to the user and
that no other user can write to.
"""

import gc
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from filelock import FileLock

from deepergcn.user_cache import is_private, user_cache

_UNUSED = 60 * 60 * 24 * 60  # seconds; two months

_log = logging.getLogger(__name__)


def kernel_folder(sources: Path) -> Path | None:
    """The folder for kernels of this very source text, or None where there cannot be a safe one.

    Numba itself would not notice a change in a file that another one inlines.

    Args:
        sources: The folder with the Python files of the kernels, in it or below it.
    """
    digest = hashlib.sha256()
    for source in sorted(sources.rglob("*.py")):
        digest.update(source.read_bytes())
    folder = user_cache() / f"kernels-{digest.hexdigest()[:16]}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    if not is_private(folder):
        _log.warning("%s: is not used for compiled kernels, since other users can write to it", folder)
        return None
    try:
        os.utime(folder)
        _forget_unused(folder.parent)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def compile_kernel(function: Callable[..., Any], folder: Path | None, **options: Any) -> Any:
    """The function, compiled on first use, with its machine code in ``folder``, or in memory alone without one."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder) if folder else before
    try:
        # Nothing calls a kernel from C: the wrapper for it would be compiled for nothing.
        compiled = numba.njit(nogil=True, no_cfunc_wrapper=True, cache=folder is not None, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
    compiled.compile = _without_collector(compiled.compile)
    if folder is not None:
        compiled._cache.save_overload = _one_at_a_time(compiled._cache.save_overload, folder / "lock")
    return compiled


def _without_collector(compile_for: Callable[..., Any]) -> Callable[..., Any]:
    """``compile_for`` with Python's garbage collector paused, which would take an eighth of its time."""

    def compile_alone(*arguments: Any) -> Any:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return compile_for(*arguments)
        finally:
            if enabled:
                gc.enable()

    return compile_alone


def _one_at_a_time(save: Callable[..., None], lock: Path) -> Callable[..., None]:
    """``save`` for one process at a time.

    Numba reads its index, chooses a name for the machine code, and writes both: two processes that have compiled a
    kernel for different types would choose the same name, and one would later run the other's code.
    """

    def save_alone(*arguments: Any) -> None:
        with suppress(OSError), FileLock(lock, fallback_to_soft=False):  # not kept where there are no locks
            save(*arguments)

    return save_alone


def _forget_unused(root: Path) -> None:
    """Remove the machine code of other versions that nobody has used for a while."""
    for folder in root.glob("kernels-*"):
        if folder.stat().st_mtime < time.time() - _UNUSED:
            shutil.rmtree(folder, ignore_errors=True)
