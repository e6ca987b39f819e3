"""Where datasets and their caches live on disk."""

import os
import shutil
import sys
import time
from pathlib import Path

VARIABLE = "DEEPERGCN_DATA"
_DAY = 86_400.0


def data_root(root: str | Path | None = None) -> Path:
    """The folder for data: ``root``, else the variable ``DEEPERGCN_DATA``, else the user's cache folder."""
    if root is not None:
        return Path(root).expanduser()
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "deepergcn"


def remove_abandoned(folder: Path, pattern: str) -> None:
    """Remove what killed processes left half-made in ``folder`` a day or more ago."""
    for path in folder.glob(pattern):
        if time.time() - path.stat().st_mtime < _DAY:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
