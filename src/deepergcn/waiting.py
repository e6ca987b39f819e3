"""How threads wait for each other: asleep on a busy machine.

Threads of OpenMP wait in a loop, as the others usually need microseconds. If other processes want the same cores, the
thread that is waited for may not run at all, and the loop keeps it from running. OpenMP reads its settings when it is
loaded, which torch does: the choice has to be made before.
"""

import os
import time
from pathlib import Path
from statistics import median

from deepergcn.cores import available_cores

LINE = "threads   sleep while they wait, since other processes use the cores; OMP_WAIT_POLICY=active lets them spin"
"""The line to print if threads sleep while they wait."""

_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
_LOADAVG = Path("/proc/loadavg")
_LOOKS, _PAUSE = 5, 0.004  # processes that come and go are not counted


def wait_asleep_if_busy() -> bool:
    """Let threads sleep while they wait if there are more of them and of others than cores; whether it was chosen.

    Nothing is chosen for a user who has made a setting of OpenMP, nor where Linux does not say how many threads run.
    """
    threads = _threads()
    if threads == 1 or any(name in os.environ for name in _SETTINGS):
        return False
    others = _running_elsewhere() * available_cores() / (os.cpu_count() or 1)
    if others + threads <= available_cores():
        return False
    os.environ["OMP_WAIT_POLICY"] = "passive"
    return True


def _threads() -> int:
    text = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(text) if text.isdecimal() and int(text) else available_cores()


def _running_elsewhere() -> float:
    """The number of threads of other processes that run or wait for a core."""
    looks = []
    for look in range(_LOOKS):
        time.sleep(_PAUSE if look else 0)
        try:
            looks.append(int(_LOADAVG.read_text().split()[3].partition("/")[0]))
        except (OSError, ValueError, IndexError):
            return 0
    return max(median(looks) - 1, 0)  # this process runs
