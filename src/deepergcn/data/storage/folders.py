"""The folder of datasets and their caches."""

import os
from pathlib import Path

from deepergcn.user_cache import expand, user_cache

VARIABLE = "DEEPERGCN_DATA"


def data_root(root: str | Path | None = None) -> Path:
    """The folder of data: ``root``, else the variable ``DEEPERGCN_DATA``, else the user's cache folder."""
    chosen = root or os.environ.get(VARIABLE)
    return expand(chosen) if chosen else user_cache()
