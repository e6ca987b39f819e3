"""What can stop a run: signals, a second process in its directory, numbers that are not finite."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children
from pathlib import Path
from types import FrameType

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from deepergcn.errors import InputError
from deepergcn.nn.graph_network import GraphNetwork


class Interrupted(Exception):  # noqa: N818, it is not an error
    """The run was asked to stop and has saved its state."""

    def __init__(self, number: int, folder: Path, epoch: int, step: int) -> None:
        super().__init__(number, folder, epoch, step)
        self.number = number
        self.folder = folder
        self.epoch = epoch
        self.step = step

    def __str__(self) -> str:
        return (
            f"stopped by {signal.Signals(self.number).name} in epoch {self.epoch + 1} after {self.step} of its steps; "
            f"all is saved, go on with: deepergcn train --resume --out {self.folder}"
        )


class Signals:
    """Whether SIGTERM or SIGINT has come: ``received`` is its number, or 0.

    In the parent of several processes a signal is handed on to them, and they save.
    """

    def __init__(self) -> None:
        self.received = 0

    @contextmanager
    def watched(self) -> Iterator["Signals"]:
        """Note the signals within, instead of dying of them; a second one kills. Only a main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received:
            raise KeyboardInterrupt
        self.received = number
        for child in active_children():
            if child.pid is not None and number == signal.SIGTERM:
                child.terminate()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run directory; the system gives it back however the process ends."""
    path = folder / "lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    with file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(f"{folder}: another process is training in this directory") from error
        try:
            yield
        finally:
            if [entry.name for entry in folder.iterdir()] == [path.name]:  # nothing came of it
                path.unlink()
                folder.rmdir()


@contextmanager
def explained(model: nn.Module, place: str) -> Iterator[None]:
    """Say where a network refused its input; after a step that went too far its own weights may be the reason."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {_parameter_not_finite(model) or error}") from error


def check_finite(model: GraphNetwork, data: Data, loss: Tensor, place: str) -> None:
    """Stop before a loss that is not finite reaches the weights, and say where it comes from."""
    if bool(loss.isfinite()):
        return
    raise InputError(
        f"{place}: the loss is {float(loss.detach())}; {_first_not_finite(model, data)}; try a lower optimizer.lr"
    )


def check_gradient(model: nn.Module, norm: Tensor, place: str) -> None:
    """Stop before a gradient that is not finite reaches the weights, and say whose it is."""
    if bool(norm.isfinite()):
        return
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not bool(parameter.grad.isfinite().all()):
            raise InputError(f"{place}: the gradient of the parameter {name} is not finite; try a lower optimizer.lr")
    raise InputError(f"{place}: the norm of the gradient is not finite; try optimizer.clip")


def _first_not_finite(model: GraphNetwork, data: Data) -> str:
    if reason := _parameter_not_finite(model):
        return reason
    found: list[str] = []

    def watch(name: str) -> "torch.utils.hooks.RemovableHandle":
        def hook(module: nn.Module, inputs: object, output: object) -> None:
            if isinstance(output, Tensor) and not bool(output.isfinite().all()):
                found.append(name)

        return model.get_submodule(name).register_forward_hook(hook)

    hooks = [watch(name) for name, _ in model.named_modules() if name]
    try:
        with torch.no_grad():
            model(data)
    finally:
        for handle in hooks:
            handle.remove()
    return f"the first output that is not finite is that of {found[0]}" if found else "the targets are not finite"


def _parameter_not_finite(model: nn.Module) -> str | None:
    names = (name for name, parameter in model.named_parameters() if not bool(parameter.isfinite().all()))
    name = next(names, None)
    return None if name is None else f"the parameter {name} is not finite"
