"""Shared memory of the processes of one machine, in which each sees the bytes of all.

The sums of a training step are small and many. Sockets pass them through a thread of every process, which waits for
milliseconds where each core is busy with the computation of another; here nobody but the computing threads takes part.
"""

import mmap
import os
import platform
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

SIZE = 1 << 18
"""Bytes that a process shows at a time."""

_FOLDER = Path("/dev/shm")
_LINE = 64  # bytes of a flag: a line of the cache
_ORDERED = ("x86_64", "AMD64")
"""Processors on which memory changes in the order of the program; on others a flag might be seen before the bytes."""

_SPIN, _YIELD = (
    2e-4,
    2e-2,
)  # seconds of waiting after which a process offers its core to others, and after which it sleeps
_CHECK = 0.1  # seconds between two looks at whether a process still lives

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class SharedMemory:
    """All-gather of bytes through shared memory.

    A process writes its bytes to its place, then the number of the round to its flag, and reads the places of the
    others when their flags have that number. Even and odd rounds have places of their own: who writes in round r + 2
    has seen that all have begun round r + 1, and have read those of round r.

    Args:
        memory: zeros, ``bytes_needed`` of them, the same in all processes.
        rank: the number of this process.
        pids: the process numbers of all, by rank.
    """

    def __init__(self, memory: mmap.mmap, rank: int, pids: Sequence[int]) -> None:
        count = len(pids)
        self._flags = memoryview(memory)[: count * _LINE].cast("q")[:: _LINE // 8]
        self._places = np.frombuffer(memory, np.uint8, offset=count * _LINE).reshape(2, count, SIZE)
        self._rank, self._pids, self._round = rank, tuple(pids), 0

    def show(self, mine: Bytes) -> Bytes:
        """The bytes of all processes, [processes, bytes], until the next call; at most ``SIZE`` of each."""
        self._round += 1
        places = self._places[self._round % 2, :, : len(mine)]
        places[self._rank] = mine
        self._flags[self._rank] = self._round
        for rank, pid in enumerate(self._pids):
            if self._flags[rank] < self._round:
                self._wait(rank, pid)
        return places

    def _wait(self, rank: int, pid: int) -> None:
        flags, number, started, looked = self._flags, self._round, time.monotonic(), 0.0
        while flags[rank] < number:
            waited = time.monotonic() - started
            if waited > looked + _CHECK:
                looked = waited
                if not _is_alive(pid) and flags[rank] < number:
                    raise RuntimeError(f"process {rank} of training has ended")
            if waited > _YIELD:
                time.sleep(_SPIN)
            elif waited > _SPIN:
                os.sched_yield()


def bytes_needed(processes: int) -> int:
    """The bytes that this number of processes shares."""
    return processes * (_LINE + 2 * SIZE)


def share(rank: int, processes: int) -> SharedMemory | None:
    """Memory shared by the processes of the default group, or None where they cannot share it: all of them, or none.

    The file that it is made with has no name any more when this returns.
    """
    token = torch.tensor(_make(bytes_needed(processes)) if rank == 0 else 0)
    torch.distributed.broadcast(token, 0)
    path = _path(int(token))
    memory = _map(path, bytes_needed(processes)) if int(token) else None
    told = [torch.empty(2, dtype=torch.int64) for _ in range(processes)]
    torch.distributed.all_gather(told, torch.tensor([memory is not None, os.getpid()]))
    pids = [int(pid) for _, pid in told]
    agreed = torch.tensor(all(bool(mapped) for mapped, _ in told) and all(map(_is_alive, pids)), dtype=torch.int64)
    torch.distributed.all_reduce(agreed, torch.distributed.ReduceOp.MIN)
    if rank == 0:
        path.unlink(missing_ok=True)
    return SharedMemory(memory, rank, pids) if memory is not None and int(agreed) else None


def _make(size: int) -> int:
    """The number of a new file of this size, reserved in memory; 0 where that is not possible."""
    token = secrets.randbits(62) + 1
    if platform.machine() not in _ORDERED or not _FOLDER.is_dir():
        return 0
    try:
        file = os.open(_path(token), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return 0
    try:
        os.posix_fallocate(file, 0, size)
    except OSError:
        _path(token).unlink()
        return 0
    finally:
        os.close(file)
    return token


def _map(path: Path, size: int) -> mmap.mmap | None:
    """The file as memory; None if it is not there, as on another machine, or not this user's."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        status = os.fstat(file)
        return mmap.mmap(file, size) if (status.st_size, status.st_uid) == (size, os.getuid()) else None
    finally:
        os.close(file)


def _path(token: int) -> Path:
    return _FOLDER / f"deepergcn-{token:016x}"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
