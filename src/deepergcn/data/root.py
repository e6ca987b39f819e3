"""Where datasets and their caches live on disk."""

import os
import sys
from pathlib import Path

VARIABLE = "DEEPERGCN_DATA"


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
