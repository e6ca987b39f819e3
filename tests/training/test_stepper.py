"""Steps that are read after the next one was launched, as a GPU's are, and steps layer by layer: no bit changes."""

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from torch import nn

from deepergcn.errors import InputError
from deepergcn.nn.reversible.backward import Backward
from deepergcn.nn.reversible.function import HandOver
from deepergcn.runs.callbacks import Callback
from deepergcn.training import stepper
from deepergcn.training.adam import FlatAdam
from deepergcn.training.signals import Interrupted
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules, repeatable


class StopsAt(Callback):
    """Sends a signal after a step of the second epoch; notes the steps that it is told of."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.told: list[tuple[int, int]] = []

    def on_step_end(self, epoch: int, step: int, loss: float) -> None:
        self.told.append((epoch, step))
        if (epoch, step) == (2, self.step):
            signal.raise_signal(signal.SIGTERM)


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
    assert repeatable(later) == repeatable(at_once)


def test_what_is_not_finite_changes_no_weights_and_is_named_a_step_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = molecule_settings(molecules(tmp_path), "optimizer.lr=1e30")
    monkeypatch.setattr(stepper, "_lag", lambda device: 1)
    stops = StopsAt(0)
    with pytest.raises(InputError, match=r"^epoch 1, step 2: the loss is nan; the (first output|parameter) "):
        train("solubility", settings=settings, out=tmp_path / "run", callbacks=[stops])
    assert stops.told == [(1, 1)]


def reversible(folder: Path, *settings: str) -> list[str]:
    """A small reversible network, whose layers are updated while backward runs."""
    small = ["model.network=RevGEN", "model.norm=layer", "model.num_layers=4", "model.hidden_channels=8"]
    return molecule_settings(molecules(folder), *small, "training.epochs=2", *settings)


def test_layers_that_are_updated_in_backward_change_no_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = reversible(tmp_path)
    updated: list[int] = []
    step_on = FlatAdam.step_on

    def note(optimizer: FlatAdam, weights: Sequence[nn.Parameter]) -> None:
        updated.append(sum(weight.grad is not None for weight in weights))
        step_on(optimizer, weights)

    monkeypatch.setattr(FlatAdam, "step_on", note)
    at_once = train("solubility", settings=[*settings, "optimizer.clip=1e30"], out=tmp_path / "at once")
    together = max(updated)
    updated.clear()
    layers = train("solubility", settings=settings, out=tmp_path / "layers")
    assert max(updated) < together
    assert repeatable(layers) == repeatable(at_once)


def test_a_layer_whose_gradient_is_not_finite_is_named_before_it_is_updated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    through: list[Sequence[nn.Parameter]] = []
    deliver = Backward._deliver

    def spoil(backward: Backward, weights: Sequence[nn.Parameter], hand_over: HandOver) -> None:
        through.append(weights)
        if len(through) == 2:  # the layers 3, 2, 1 and 0
            backward._gradients[weights[0]].fill_(float("inf"))
        deliver(backward, weights, hand_over)

    monkeypatch.setattr(Backward, "_deliver", spoil)
    with pytest.raises(InputError, match=r"^epoch 1, step 1: the gradient of the parameter .*layers\.2\..* not finite"):
        train("solubility", settings=reversible(tmp_path), out=tmp_path / "run")
