"""The memory of this machine; what does not fit into it is refused before it is allocated."""

import ctypes
import os
from pathlib import Path

from deepergcn.errors import InputError

_CGROUPS = (  # the files that say what a container may use and what it uses, of both versions of Linux's control groups
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def check_memory(needed: int, what: str) -> None:
    """Raise an error if ``what`` needs more bytes than this machine has."""
    if needed > physical_memory():
        raise InputError(f"{what}: needs {needed / 1e9:,.0f} GB of memory; this machine has less")


def physical_memory() -> int:
    """The bytes of this machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # an operating system that does not say
        return 1 << 40


def available_memory() -> int:
    """The bytes that this process can still allocate, on the machine and within its container."""
    free = _proc("/proc/meminfo", "MemAvailable")
    limits = [physical_memory() if free is None else free]
    for limit, used in _CGROUPS:
        try:
            limits.append(int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # no such group, or no limit: "max"
            continue
    return max(min(limits), 0)


def resident_memory() -> int | None:
    """The bytes of this process in memory; None where the system does not say."""
    return _proc("/proc/self/status", "VmRSS")


class PeakMemory:
    """How far the memory of this process rises inside of a ``with`` above what it was.

    Attributes:
        rise: the bytes, once the block has ended; None where the system does not say.
    """

    rise: int | None = None

    def __enter__(self) -> "PeakMemory":
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        except OSError:
            self._before = None
        else:
            self._before = resident_memory()
        return self

    def __exit__(self, *error: object) -> None:
        peak = _proc("/proc/self/status", "VmHWM")
        if self._before is not None and peak is not None:
            self.rise = max(peak - self._before, 0)


def _proc(path: str, field: str) -> int | None:
    """A size in bytes from one of Linux's files of ``Name:  kilobytes kB``."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), None)


def give_back() -> None:
    """Return to the system what this process has freed; what is measured after it is not hidden in old holes."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)
