"""Timing in turns, memory in fresh processes, results as tables and CSV."""

import csv
import ctypes
import gc
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import torch
from rich.console import Console
from rich.table import Table

from deepergcn.ops.kernels.recycled import release

RESULTS = Path(__file__).parent / "results"
_LEAST = 1_000_000  # bytes; what a process frees and takes again between two readings is not seen
CPU = torch.device("cpu")
Step = Callable[[], object]
Contestant = Callable[[], Step]
"""Sets up, and gives what is timed."""


@dataclass(frozen=True)
class Comparison:
    """Codes that do the same work: one table.

    Attributes:
        title: what they do, and on what.
        contestants: by name; ours is ``deepergcn``.
        repeats: the times that each is timed.
        warm_up: the times that each runs before.
        weighed: whether the memory is measured on a CPU too, each in a fresh process.
    """

    title: str
    contestants: Mapping[str, Contestant]
    repeats: int
    warm_up: int = 1
    weighed: bool = True


def compare(script: str, comparisons: Iterable[Comparison]) -> None:
    """Measure on the CPU and report: times in turns in this process, memory in fresh ones of ``script``."""
    tables = list(comparisons)
    numbered = [{f"{number}/{name}": make for name, make in t.contestants.items()} for number, t in enumerate(tables)]
    if _memory_asked({name: make for table in numbered for name, make in table.items()}):
        return
    for table, contestants in zip(tables, numbered, strict=True):
        seconds = minimum_times(table.contestants, table.repeats, table.warm_up)
        weights = _memories(script, contestants) if table.weighed else {}
        memory = {name.partition("/")[2]: size for name, size in weights.items()}
        report(script, table.title, seconds, memory)


def minimum_times(contestants: Mapping[str, Contestant], repeats: int, warm_up: int = 1) -> dict[str, float]:
    """The least seconds of each contestant: all are set up and warmed up, then they take turns."""
    steps = {name: prepare() for name, prepare in contestants.items()}
    for step in steps.values():
        for _ in range(warm_up):
            step()
    return least_seconds(steps, repeats)


def least_seconds(steps: Mapping[str, Step], repeats: int, device: torch.device = CPU) -> dict[str, float]:
    """The least seconds of each step, in turns; a GPU is idle before and after each."""
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(repeats):
        for name, step in steps.items():
            gc.collect()
            wait_for(device)
            start = time.perf_counter()
            step()
            wait_for(device)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def wait_for(device: torch.device) -> None:
    """Until a GPU has done all that it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def extra_memory(step: Step, warm_up: bool = True, device: torch.device = CPU) -> int:
    """Bytes by which the memory peaks during a step above what is taken before it.

    On a CPU it is the resident memory of this process, on a GPU what its allocator has given out.
    """
    if warm_up:
        step()
    gc.collect()
    if device.type == "cuda":
        wait_for(device)
        allocated = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        step()
        wait_for(device)
        return int(torch.cuda.max_memory_allocated(device)) - int(allocated)
    release()
    ctypes.CDLL(None).malloc_trim(0)  # what the warm-up has freed but not given back would hide as much of the step's
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    step()
    return _status("VmHWM") - before


def peak_memory() -> int:
    """The bytes of this process at its peak, since it was started."""
    return _status("VmHWM")


def _status(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def _memories(script: str, contestants: Mapping[str, Contestant]) -> dict[str, int]:
    """``extra_memory`` of each contestant in a fresh process of ``script``."""
    found = {}
    for name in contestants:
        command = [sys.executable, "-m", f"benchmarks.{script}", "--memory-of", name]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        found[name] = int(answer.stdout.split()[-1])
    return found


def report(
    script: str,
    title: str,
    seconds: Mapping[str, float],
    memory: Mapping[str, int],
    ours: str = "deepergcn",
    **setting: object,
) -> None:
    """Print the table of one measurement and write it to ``results``, with the versions and the machine."""
    table = Table(title=title, title_justify="left")
    for heading in ("", "seconds", "ours is faster by", "extra memory, MB", "ours is smaller by"):
        table.add_column(heading, justify="right" if heading else "left")
    rows: list[dict[str, object]] = []
    for name, spent in seconds.items():
        faster = spent / seconds[ours]
        size = memory.get(name)
        smaller = size / max(memory[ours], _LEAST) if size is not None and ours in memory else None
        megabytes = "" if size is None else f"{size / 1e6:,.0f}"
        table.add_row(name, f"{spent:.4f}", f"{faster:.2f}", megabytes, "" if smaller is None else f"{smaller:.1f}")
        rows.append({"contestant": name, "seconds": f"{spent:.6f}", "extra_bytes": "" if size is None else size})
    Console(width=110).print(table)
    write_csv(script, title, rows, setting)


def write_csv(script: str, title: str, rows: list[dict[str, object]], setting: Mapping[str, object]) -> None:
    """Put the rows of one measurement in the place of those that were there before."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{script}.csv"
    kept = []
    if path.exists():
        with path.open(newline="") as file:
            kept = [row for row in csv.DictReader(file) if row["measurement"] != title]
    every = [*kept, *({"measurement": title, **row, **setting, **machine()} for row in rows)]
    fields = list(dict.fromkeys(key for row in every for key in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(every)


class Used(NamedTuple):
    """What a program has used: processor seconds, seconds, and the MB of its largest process at its peak."""

    cpu: float
    seconds: float
    memory: float


def use_of(command: Sequence[str | Path]) -> Used:
    """What a program uses, on one thread."""
    script = (
        "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, "
        "stderr=subprocess.DEVNULL).returncode; used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024); sys.exit(code)"
    )
    start = time.perf_counter()
    answer = subprocess.run(
        [sys.executable, "-c", script, *map(str, command)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    cpu, memory = map(float, answer.stdout.split())
    return Used(cpu, time.perf_counter() - start, memory)


def machine() -> dict[str, object]:
    """The versions and the hardware that a figure belongs to."""
    names = ("deepergcn", "torch", "torch-geometric", "numba")
    return {
        **{name: version(name) for name in names},
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "date": date.today().isoformat(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _memory_asked(contestants: Mapping[str, Contestant]) -> bool:
    """In a fresh process that ``_memories`` started: measure the one contestant, print it, and say so."""
    if "--memory-of" not in sys.argv:
        return False
    print(extra_memory(contestants[sys.argv[sys.argv.index("--memory-of") + 1]]()))
    return True
