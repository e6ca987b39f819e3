"""TensorBoard events hold what the csv files hold, before and after a resume."""

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from deepergcn.errors import InputError
from deepergcn.report import tensorboard
from deepergcn.runs.run import Run
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules


def written(run: Run, tag: str) -> list[tuple[int, float]]:
    events = EventAccumulator(str(run.path / tensorboard.FOLDER)).Reload()
    return [(event.step, event.value) for event in events.Scalars(tag)]


def test_events_hold_the_rows_of_the_csv_files(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=2")
    train("solubility", settings=settings, out=tmp_path / "run", tensorboard=True)
    run = train(out=tmp_path / "run", resume=True, epochs=4, tensorboard=True)
    assert [step for step, _ in written(run, "valid_loss")] == [1, 2, 3, 4]
    assert [value for _, value in written(run, "valid_loss")] == pytest.approx(
        [row["valid_loss"] for row in run.metrics()]
    )
    second = [row["beta"] for row in run.dynamics() if row["layer"] == 2]
    assert [value for _, value in written(run, "beta/layer 2")] == pytest.approx(second)


def test_without_the_package_nothing_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorboard, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="--tensorboard: expected the package tensorboard"):
        train(out=tmp_path / "run", tensorboard=True)
    assert not (tmp_path / "run").exists()
