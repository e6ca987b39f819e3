"""Several runs at a time on a Ray cluster, with the number of threads as the resource that each of them needs."""

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from deepergcn.data.storage.files import write_bytes, write_text
from deepergcn.errors import InputError
from deepergcn.ray_cluster import connected
from deepergcn.runs.lock import wait_until_free
from deepergcn.studies.pool import Stopped, caught_signals, failure_reason, log_of, logged_work

RETRIES = 3
"""How often a run is started again after its node or process was lost."""

_LOOK = 0.5  # seconds between two looks at the runs
_PATIENCE = 60.0  # seconds for the process of a lost node to let go of its run directory


@dataclass(frozen=True)
class RayTask:
    """A run: its name, its absolute run directory, and the function that trains it, or resumes it, in a directory."""

    name: str
    folder: Path
    work: Callable[[Path], None]


class Answer(NamedTuple):
    """How the work of a node ended: its exit code, and its log and the files of the run where nodes share no disk."""

    code: int
    log: bytes = b""
    files: dict[str, bytes] | None = None


def run_on_ray(
    tasks: Sequence[RayTask],
    address: str,
    root: Path,
    threads: int,
    changed: Callable[[RayTask, str, str], None],
    look: Callable[[], None] = lambda: None,
) -> None:
    """Train the runs on a cluster, as many at a time as it has threads for; one that fails does not stop the others.

    Where the nodes see the disk of this process, a run is trained in its directory, and one whose node was lost resumes
    on another. Elsewhere the run is trained in a temporary directory and its files are sent back.

    Args:
        tasks: what to train, in this order.
        address: of the cluster's head, or ``auto``.
        root: a folder that all run directories are in.
        threads: the number of threads of each run, which are as many of Ray's CPUs.
        changed: called with a task, its new state and the reason of a failure, as in :mod:`deepergcn.studies.pool`.
        look: called about twice a second.

    SIGTERM or SIGINT stops the runs, which save their states; then :class:`Stopped` is raised.
    """
    with connected(address) as ray, caught_signals() as received, _marked(root) as mark:
        _check_threads(ray, threads)
        remote = ray.remote(num_cpus=threads, max_retries=RETRIES)(work_on_node)
        waiting, running, asked = list(tasks), dict[Any, RayTask](), False
        while running or (waiting and not received):
            while waiting and len(running) < _slots(ray, threads) and not received:
                task = waiting.pop(0)
                running[remote.remote(task, threads, mark, os.getcwd(), _files(task.folder))] = task
                changed(task, "running", "")
            done, _ = ray.wait(list(running), timeout=_LOOK)
            if received and not asked:
                asked = True
                for reference in running:
                    ray.cancel(reference)  # SIGINT, at which a run saves its state
            for reference in done:
                changed(*_ended(ray, reference, running.pop(reference), bool(received)))
            look()
    if received:
        raise Stopped(received[0])


def work_on_node(task: RayTask, threads: int, mark: Path, folder: str, files: dict[str, bytes]) -> Answer:
    """The work of one node.

    Args:
        task: what to train.
        threads: the number of threads.
        mark: a file that exists if this node sees the disk of the process that submitted the work.
        folder: the working directory of that process.
        files: the run as far as it was trained before.
    """
    import torch

    torch.set_num_threads(threads)
    if mark.exists():
        os.chdir(folder)
        wait_until_free(task.folder, _PATIENCE)
        return Answer(logged_work(log_of(task.folder), lambda: task.work(task.folder)))
    with TemporaryDirectory(prefix="deepergcn-") as temporary:
        here = Path(temporary) / task.folder.name
        _write(here, files)
        code = logged_work(log_of(here), lambda: task.work(here))
        return Answer(code, log_of(here).read_bytes(), _files(here))


def _ended(ray: Any, reference: Any, task: RayTask, stopped: bool) -> tuple[RayTask, str, str]:
    """The task, its state and the reason of a failure, once its files are here."""
    try:
        answer: Answer = ray.get(reference)
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return (task, "waiting", "") if stopped else (task, "failed", f"Ray: {reason}")
    if answer.files is not None:
        write_bytes(log_of(task.folder), answer.log)
        _write(task.folder, answer.files)
    if answer.code == 0:
        return task, "finished", ""
    return (task, "waiting", "") if stopped else (task, "failed", failure_reason(log_of(task.folder), answer.code))


def _check_threads(ray: Any, threads: int) -> None:
    largest = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
    if largest < threads:
        raise InputError(f"--threads is {threads}; the largest node of the cluster has {largest:g} CPUs")


def _slots(ray: Any, threads: int) -> int:
    """The number of runs that the present nodes have threads for."""
    nodes = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
    return max(sum(int(cpus // threads) for cpus in nodes), 1)


@contextmanager
def _marked(root: Path) -> Iterator[Path]:
    """A file by which a node finds out that it sees this disk."""
    mark = root.resolve() / f".ray-{uuid.uuid4().hex}"
    write_text(mark, "")
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


def _files(folder: Path) -> dict[str, bytes]:
    """Every file of a run directory but its lock, by its path in it."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """Write the files, the summary as the last: a run that has one has all others."""
    for name in sorted(files, key=lambda name: name == "summary.json"):
        write_bytes(folder / name, files[name])
