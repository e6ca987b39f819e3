"""Devices, precision and processes, through Lightning Fabric."""

import logging
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException

from deepergcn.errors import InputError
from deepergcn.printable import CleanFormatter

# It announces every process that it starts.
logging.getLogger("lightning_fabric").setLevel(logging.WARNING)

_TRY_BF16 = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); (a @ a).sum().item()"


def make_fabric(devices: int, precision: str) -> Fabric:
    """The processes and devices to train on; under torchrun their number comes from its environment."""
    accelerator = "cuda" if torch.cuda.is_available() else "cpu"
    if precision == "bf16" and accelerator == "cpu":
        _check_bf16()
    available = torch.cuda.device_count() if accelerator == "cuda" else os.cpu_count() or 1
    if devices > available:
        raise InputError(f"--devices is {devices}; this machine has {available}")
    external, machines = under_torchrun(), 1
    several = external or devices > 1
    if external:
        devices, machines = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ.get("GROUP_WORLD_SIZE", "1"))
    strategy: Any = "auto"
    if several:
        strategy = DDPStrategy(
            start_method="popen" if external else "spawn",
            process_group_backend="gloo" if accelerator == "cpu" else "cpu:gloo,cuda:nccl",
            forward_sync_buffers=False,
            gradient_as_bucket_view=True,  # no copy of the gradients beside the buckets that are exchanged
        )
    return Fabric(
        accelerator=accelerator,
        devices=devices,
        num_nodes=machines,
        strategy=strategy,
        precision="bf16-mixed" if precision == "bf16" else "32-true",
    )


def threads_of_each(processes: int) -> int:
    """The threads of each process on this machine: together as many as one has, unless OMP_NUM_THREADS says more."""
    threads = torch.get_num_threads()
    return threads if "OMP_NUM_THREADS" in os.environ else max(threads // processes, 1)


@contextmanager
def with_threads(threads: int | None) -> Iterator[None]:
    """Compute with this number of threads; None leaves it as it is."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def from_first(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast the numbers of the first process to all processes."""
    count = torch.tensor(len(numbers))
    torch.distributed.broadcast(count, 0)
    told = torch.zeros(int(count), dtype=torch.int64)
    told[: len(numbers)] = torch.tensor(numbers, dtype=torch.int64)
    torch.distributed.broadcast(told, 0)
    return tuple(told.tolist())


def launch(fabric: Fabric, function: Callable[..., Any], *args: Any) -> Any:
    """Call ``function(fabric, *args)`` in every process and return the result of the first."""
    work: Callable[..., Any] = _work
    try:
        return fabric.launch(work, function, *args)
    except ProcessRaisedException as error:
        raise _from_child(error) from error
    except ProcessExitedException as error:
        raise InputError(f"a training process ended unexpectedly ({error}); was there enough memory?") from error


def _work(fabric: Fabric, function: Callable[..., Any], *args: Any) -> Any:
    """``function(fabric, *args)``, with a log in a new process that is harmless on the terminal that it shares."""
    logger = logging.getLogger("deepergcn")
    if multiprocessing.parent_process() is not None and not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(CleanFormatter())
        logger.addHandler(handler)
    return function(fabric, *args)


def _from_child(error: ProcessRaisedException) -> Exception:
    """The error of another process if a user can fix it, otherwise its whole traceback."""
    text = str(error).strip()
    _, found, message = text.rpartition(f"\n{InputError.__module__}.{InputError.__qualname__}: ")
    if found and "\nTraceback (most recent call last):" not in message:
        return InputError(" ".join(message.split()))
    last = text.splitlines()[-1]
    return RuntimeError(last) if "memory" in last else error


def under_torchrun() -> bool:
    """Whether torchrun has started this process, and the others with it."""
    return torch.distributed.is_torchelastic_launched()


def is_first_process() -> bool:
    """Whether this is the process of rank 0; always true without torchrun."""
    return not under_torchrun() or os.environ["RANK"] == "0"


def _check_bf16() -> None:
    """Try one matrix product in a separate process: some processors announce instructions that their host forbids."""
    tried = subprocess.run([sys.executable, "-c", _TRY_BF16], capture_output=True, check=False)
    if tried.returncode:
        raise InputError("--precision bf16: multiplying bfloat16 matrices crashes on this machine; expected 32")
