"""Steps that are read after the next one was launched, as a GPU's are, tried on the CPU: nothing of a run changes."""

import signal
from pathlib import Path

import pytest
from safetensors.torch import load_file

from deepergcn.errors import InputError
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.run import Run
from deepergcn.training import stepper
from deepergcn.training.signals import Interrupted
from deepergcn.training.train import train
from tests.training.small import NOT_REPEATABLE, molecule_settings, molecules


class StopsAt(Callback):
    """Sends a signal after a step of the second epoch; notes the steps that it is told of."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.told: list[tuple[int, int]] = []

    def on_step_end(self, epoch: int, step: int, loss: float) -> None:
        self.told.append((epoch, step))
        if (epoch, step) == (2, self.step):
            signal.raise_signal(signal.SIGTERM)


def rows(run: Run) -> list[dict[str, object]]:
    return [{key: value for key, value in row.items() if key not in NOT_REPEATABLE} for row in run.metrics()]


def test_a_run_has_the_same_bits_also_when_it_is_stopped_within_an_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=3")
    at_once = train("solubility", settings=settings, out=tmp_path / "at once")
    monkeypatch.setattr(stepper, "_lag", lambda device: 1)
    stops = StopsAt(1)
    with pytest.raises(Interrupted) as left:
        train("solubility", settings=settings, out=tmp_path / "later", callbacks=[stops])
    assert stops.told == [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2)]  # the one that was under way too
    assert "epoch 2 after 2 of its steps" in str(left.value)
    later = train(out=tmp_path / "later", resume=True)
    assert rows(later) == rows(at_once)
    ours, theirs = load_file(later.model_file), load_file(at_once.model_file)
    assert all(ours[name].equal(weight) for name, weight in theirs.items())


def test_what_is_not_finite_changes_no_weights_and_is_named_a_step_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = molecule_settings(molecules(tmp_path), "optimizer.lr=1e30")
    monkeypatch.setattr(stepper, "_lag", lambda device: 1)
    stops = StopsAt(0)
    with pytest.raises(InputError, match=r"^epoch 1, step 2: the loss is nan; the (first output|parameter) "):
        train("solubility", settings=settings, out=tmp_path / "run", callbacks=[stops])
    assert stops.told == [(1, 1)]
