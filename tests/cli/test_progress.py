"""How a run is shown: a bar on a terminal, lines elsewhere."""

from pathlib import Path

import pytest

from deepergcn.cli.progress import EpochLines, ProgressBar, molecule_bar, run_display
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules


def test_a_bar_shows_epochs_loss_scores_and_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    shown = run_display()
    assert isinstance(shown, ProgressBar)
    run = train("solubility", settings=molecule_settings(molecules(tmp_path)), out=tmp_path / "run", callbacks=[shown])
    summary = run.summary()
    assert summary is not None
    out = capsys.readouterr().out
    assert "epoch 4/4" in out
    assert "valid rocauc" in out
    assert f"best {summary.valid_score:.4f} at epoch {summary.best_epoch}" in out
    assert shown.bar is None


def test_lines_are_for_files_and_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert type(run_display()) is EpochLines


def test_molecules_are_counted_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with molecule_bar() as progress:
        assert progress is None
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with molecule_bar() as progress:
        assert progress is not None
        progress(128, 1000)
    out, err = capsys.readouterr()
    assert out == ""
    assert " 128/1000" in err
