"""Several runs at a time on one machine, each in a process of its own."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from deepergcn.errors import InputError
from deepergcn.runs.run import Run
from deepergcn.studies.cells import Cell, difference

_LOOK = 0.5  # seconds between two looks at the runs

Watcher = Callable[[Cell, str, str], None]
"""Called with a cell, its new state (``running``, ``finished`` or ``failed``) and the reason of a failure."""


class Stopped(Exception):  # noqa: N818, it is not an error
    """The study was stopped by a signal; every run has saved its state."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_cell(cell: Cell, threads: int) -> None:
    """Train a cell in this process, or resume it."""
    from deepergcn.training.train import train

    if not (cell.folder / "run.json").exists():
        train(cell.setup.source.recipe, settings=cell.setup.settings, seed=cell.seed, out=cell.folder, threads=threads)
        return
    run = Run.open(cell.folder)
    differs = difference(run, cell, but=["training.epochs"])
    if differs is not None:
        raise InputError(f"{cell.folder}: has a run with {differs}; expected another --out")
    train(out=cell.folder, seed=cell.seed, resume=True, epochs=cell.recipe.training.epochs, threads=threads)


def run_cells(
    cells: Sequence[Cell], jobs: int, threads: int, watcher: Watcher, look: Callable[[], None] = lambda: None
) -> None:
    """Train the cells, several at a time; a cell that fails does not stop the others.

    Args:
        cells: what to train, in this order.
        jobs: the number of processes.
        threads: the number of threads of each.
        watcher: called when the state of a cell changes.
        look: called about twice a second.

    SIGTERM or SIGINT is handed on to the processes, which save their states; then :class:`Stopped` is raised. If this
    process is killed, they stop as well.
    """
    context = _context()
    waiting, running, asked = list(cells), dict[BaseProcess, Cell](), False
    with caught_signals() as received:
        while running or (waiting and not received):
            while waiting and len(running) < jobs and not received:
                cell = waiting.pop(0)
                process = context.Process(target=_work, args=(cell, threads), name=cell.name)
                process.start()
                running[process] = cell
                watcher(cell, "running", "")
            wait([process.sentinel for process in running], timeout=_LOOK)
            if received and not asked:
                asked = True
                for process in running:
                    process.terminate()  # it saves its state
            for process in [process for process in running if process.exitcode is not None]:
                cell = running.pop(process)
                if process.exitcode == 0:
                    watcher(cell, "finished", "")
                elif received:
                    watcher(cell, "waiting", "")
                else:
                    watcher(cell, "failed", failure_reason(log_of(cell.folder), process.exitcode or 0))
            look()
    if received:
        raise Stopped(received[0])


def log_of(folder: Path) -> Path:
    """The log of the training of the run in this directory."""
    return folder.with_name(f"{folder.name}.log")


def _context() -> Any:
    """Processes that start at once, since a server has loaded all that they need."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["deepergcn.training.train"])
    return context


def _work(cell: Cell, threads: int) -> None:
    """The work of one process."""
    _stop_with_parent()
    raise SystemExit(logged_work(log_of(cell.folder), lambda: run_cell(cell, threads)))


def logged_work(log: Path, work: Callable[[], None]) -> int:
    """Do the work with its output in the log, its error as the last line, and return the exit code."""
    from deepergcn.training.signals import Interrupted

    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        try:
            work()
        except Interrupted as interrupted:
            return 128 + interrupted.number
        except (InputError, MemoryError) as error:
            file.write(f"{' '.join(str(error).split()) or 'out of memory'}\n")
            return 2
        except Exception:  # whatever it is, the other runs go on
            file.write(traceback.format_exc())
            return 1
    return 0


def _stop_with_parent() -> None:
    """Leave the terminal's signals to the parent, and stop when the parent has ended."""
    if sys.platform != "win32":
        os.setsid()
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def failure_reason(log: Path, code: int) -> str:
    """Why a process has failed: the signal that killed it, or the last line of its log."""
    if code < 0:
        return f"the process was killed by {signal.Signals(-code).name}"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else f"the process exited with code {code}"


@contextlib.contextmanager
def caught_signals() -> Iterator[list[int]]:
    """A list of the signals that were received."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
