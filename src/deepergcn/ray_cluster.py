"""A connection to a Ray cluster, which needs the extra ``ray``."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deepergcn.errors import InputError


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to the cluster of this address, or to the one of this machine (``"auto"``).

    Nothing is told to its makers.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError("--ray needs the package ray; install the extra: pip install 'deepergcn[ray]'") from error
    if ray.is_initialized():
        yield ray
        return
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"--ray {address}: no Ray cluster answers at this address ({reason})") from error
    try:
        yield ray
    finally:
        ray.shutdown()
