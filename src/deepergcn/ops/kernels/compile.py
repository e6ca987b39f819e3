"""How kernels are compiled, cached on disk and started."""

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import torch

# Products and sums may fuse into one rounding. Nothing else is allowed: NaN and infinity stay what they are.
FASTMATH = {"contract"}

_workqueue = threading.Lock()


def _cache_folder() -> Path | None:
    """A folder for this very source text: Numba itself would not notice a change in a file that another one inlines."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "deepergcn" / f"kernels-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


_FOLDER = _cache_folder()


def kernel(function: Callable[..., None]) -> Callable[..., None]:
    """Compile on first use, in parallel over the chunks of a ``prange``, and keep the machine code on disk.

    The number of threads is torch's. A kernel writes into the arrays that it is given and returns nothing.
    """
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_FOLDER) if _FOLDER else before
    try:
        compiled = numba.njit(parallel=True, fastmath=FASTMATH, cache=_FOLDER is not None)(function)
    finally:
        numba.config.CACHE_DIR = before

    def launch(*arguments: Any) -> None:
        numba.set_num_threads(min(torch.get_num_threads(), numba.config.NUMBA_NUM_THREADS))
        if _may_run_concurrently():
            compiled(*arguments)
        else:
            with _workqueue:
                compiled(*arguments)

    launch.__name__ = function.__name__
    launch.__doc__ = function.__doc__
    return launch


def _may_run_concurrently() -> bool:
    """Numba's workqueue layer, the last resort where OpenMP and TBB are missing, aborts when two threads enter it."""
    try:
        return bool(numba.threading_layer() != "workqueue")
    except ValueError:  # no kernel has run yet, so that the layer is still unknown
        return False
