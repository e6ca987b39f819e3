"""Callbacks: code that is called while a run trains."""

from collections.abc import Sequence
from contextlib import ExitStack

from deepergcn.runs.run import Row, Run
from deepergcn.runs.state import Progress


class Callback:
    """The base class of callbacks; every method does nothing and may be overridden.

    Callbacks are called in the first process only, in the order in which they were given.
    """

    def on_plan(self, line: str) -> None:
        """Called before there is a run directory, with a line on the cost of the run, or on how it is distributed."""

    def on_train_start(self, run: Run, progress: Progress, steps: int) -> None:
        """Called before the first step; ``steps`` is the number of steps per epoch."""

    def on_step_end(self, epoch: int, step: int, loss: float) -> None:
        """Called after every step; ``step`` is the number of steps done in this epoch."""

    def on_epoch_end(self, metrics: Row, dynamics: Sequence[Row], progress: Progress) -> None:
        """Called after every epoch with its row of ``metrics.csv`` and its rows of ``dynamics.csv``."""

    def on_train_end(self) -> None:
        """Called when training ends, is interrupted, or fails."""


class Callbacks(Callback):
    """Several callbacks as one."""

    def __init__(self, callbacks: Sequence[Callback] = ()) -> None:
        self.callbacks = tuple(callbacks)

    def on_plan(self, line: str) -> None:
        for callback in self.callbacks:
            callback.on_plan(line)

    def on_train_start(self, run: Run, progress: Progress, steps: int) -> None:
        for callback in self.callbacks:
            callback.on_train_start(run, progress, steps)

    def on_step_end(self, epoch: int, step: int, loss: float) -> None:
        for callback in self.callbacks:
            callback.on_step_end(epoch, step, loss)

    def on_epoch_end(self, metrics: Row, dynamics: Sequence[Row], progress: Progress) -> None:
        for callback in self.callbacks:
            callback.on_epoch_end(metrics, dynamics, progress)

    def on_train_end(self) -> None:
        with ExitStack() as stack:  # every callback is called, even if one of them fails
            for callback in reversed(self.callbacks):
                stack.callback(callback.on_train_end)
