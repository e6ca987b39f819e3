"""Timing in turns, memory in fresh processes, results as tables and CSV."""

import csv
import ctypes
import gc
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
_LEAST = 1_000_000  # bytes; what a process frees and takes again between two readings is not seen
Step = Callable[[], object]
Contestant = Callable[[], Step]
"""Sets up, and gives what is timed."""


def minimum_times(contestants: Mapping[str, Contestant], repeats: int, warm_up: int = 1) -> dict[str, float]:
    """The least seconds of each contestant: all are set up and warmed up, then they take turns."""
    steps = {name: prepare() for name, prepare in contestants.items()}
    for step in steps.values():
        for _ in range(warm_up):
            step()
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(repeats):
        for name, step in steps.items():
            gc.collect()
            start = time.perf_counter()
            step()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def extra_memory(step: Step, warm_up: bool = True) -> int:
    """Bytes by which the resident size of this process peaks during a step above what is resident before it."""
    if warm_up:
        step()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what the warm-up has freed but not given back would hide as much of the step's
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    step()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def memories(script: str, contestants: Mapping[str, Contestant]) -> dict[str, int]:
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


def memory_asked(contestants: Mapping[str, Contestant]) -> bool:
    """In a fresh process that ``memories`` started: measure the one contestant, print it, and say so."""
    if "--memory-of" not in sys.argv:
        return False
    print(extra_memory(contestants[sys.argv[sys.argv.index("--memory-of") + 1]]()))
    return True
