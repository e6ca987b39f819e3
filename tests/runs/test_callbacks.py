"""Several callbacks as one."""

from pathlib import Path

import pytest

from deepergcn.runs.callbacks import Callback, Callbacks
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules


class Recorder(Callback):
    def __init__(self, calls: list[str], name: str, error: Exception | None = None) -> None:
        self.calls, self.name, self.error = calls, name, error

    def on_train_start(self, run: object, progress: object, steps: int) -> None:
        self.calls.append(f"{self.name} start {steps}")

    def on_step_end(self, epoch: int, step: int, loss: float) -> None:
        self.calls.append(f"{self.name} step {epoch}.{step}")

    def on_epoch_end(self, metrics: dict[str, float | None], dynamics: object, progress: object) -> None:
        self.calls.append(f"{self.name} epoch {metrics['epoch']}")

    def on_train_end(self) -> None:
        self.calls.append(f"{self.name} end")
        if self.error is not None:
            raise self.error


def test_training_calls_them_in_order(tmp_path: Path) -> None:
    calls: list[str] = []
    settings = molecule_settings(molecules(tmp_path), "training.epochs=1", "training.batch_size=12")
    train(settings=settings, out=tmp_path / "run", callbacks=[Recorder(calls, "a"), Recorder(calls, "b")])
    events = ["start 2", "step 1.1", "step 1.2", "epoch 1", "end"]
    assert calls == [f"{name} {event}" for event in events for name in "ab"]


def test_every_callback_ends_even_if_one_fails() -> None:
    calls: list[str] = []
    several = Callbacks([Recorder(calls, "a", RuntimeError("a failed")), Recorder(calls, "b")])
    with pytest.raises(RuntimeError, match="a failed"):
        several.on_train_end()
    assert calls == ["a end", "b end"]
