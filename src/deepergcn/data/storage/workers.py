"""Work in other processes of this machine."""

import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, TypeVar

import joblib

from deepergcn.errors import TemporaryError

_IDLE_SECONDS = 5

_HANDED_OVER_SECONDS = 0.1
"""Loky's thread fails if it is stopped with a call that it has not handed to a process. It takes calls as results come
in, so that calls still under way are waited for where they are short; where they are long, only for the hand-over."""

T = TypeVar("T")


def in_processes(
    function: Callable[..., T], arguments: Iterable[tuple[Any, ...]], jobs: int, *, large: bool = False
) -> Generator[T]:
    """The results of a function for each of these arguments.

    Args:
        function: What is called.
        arguments: The arguments of every call; those of a few calls for each process are made ahead.
        jobs: The number of processes.
        large: Whether a call takes long: results come as soon as they are there, and calls go to processes one by one.
    """
    how: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1} if large else {"return_as": "generator"}
    wanted = True

    def calls() -> Generator[Any]:
        for given in arguments:
            if not wanted:
                return
            yield joblib.delayed(function)(*given)

    # Loky neither forks this process, with its threads, nor runs the caller's script again as spawn does.
    with joblib.parallel_config("loky", idle_worker_timeout=_IDLE_SECONDS):
        results = joblib.Parallel(n_jobs=jobs, **how)(calls())
    try:
        for result in results:  # noqa: UP028 (yield from would close the results outside of the block below)
            yield result
    except BrokenProcessPool as error:
        raise TemporaryError(
            f"one of {jobs} processes was killed, for lack of memory or by another program; expected more memory, or "
            "fewer processes"
        ) from error
    except GeneratorExit:
        wanted = False
        if large:
            time.sleep(_HANDED_OVER_SECONDS)
        else:
            with suppress(Exception):
                deque(results, maxlen=0)
        raise
    finally:
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore", UserWarning)  # that some results were not used
            results.close()
