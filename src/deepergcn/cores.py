"""The cores of this machine, and how many processes and threads may be asked for."""

import os

from deepergcn.errors import InputError, quote

_PROCESSES_PER_CORE = 4  # more than one hides the reading of files; many more only take memory


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_jobs(jobs: int, name: str = "--jobs") -> int:
    """The number of processes that an option or argument of this name asks for."""
    most = _PROCESSES_PER_CORE * (os.cpu_count() or 1)
    if type(jobs) is not int or not 1 <= jobs <= most:
        raise InputError(f"{name} is {quote(jobs)}; expected from 1 to {most}, {_PROCESSES_PER_CORE} for every core")
    return jobs


def check_threads(threads: int) -> int:
    """The number of threads that ``--threads`` asks for."""
    most = os.cpu_count() or 1
    if type(threads) is not int or not 1 <= threads <= most:
        raise InputError(f"--threads is {quote(threads)}; expected from 1 to {most}, one for every core")
    return threads
