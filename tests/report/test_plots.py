"""Plots: the lines that they must hold, and files that are pictures."""

from pathlib import Path

import numpy as np
import pytest

from deepergcn.data.storage.files import write_text
from deepergcn.report.plots import curves, layers_over_epochs, learned, write_plots
from deepergcn.runs.run import DYNAMIC_COLUMNS, METRIC_COLUMNS, Row, Run
from tests.training.trained import make_run, molecule_file, small_recipe

VALID_SCORES = [0.5, 0.8, None, 0.7]


def metric_rows() -> list[Row]:
    empty: Row = dict.fromkeys(METRIC_COLUMNS)
    return [
        {**empty, "epoch": epoch, "train_loss": 1 / epoch, "valid_score": score}
        for epoch, score in enumerate(VALID_SCORES, start=1)
    ]


def dynamic_rows(layers: int) -> list[Row]:
    return [
        {"epoch": epoch, "layer": layer, "beta": 1 + layer * epoch / 10, "p": None, "y": None, "s": 1.0}
        for epoch in range(1, 4)
        for layer in range(1, layers + 1)
    ]


def test_curves_hold_what_was_measured_and_mark_the_best_epoch() -> None:
    loss, score = curves(metric_rows(), "accuracy", best_epoch=2).axes
    lines = {line.get_label(): line for line in loss.lines}
    assert list(lines) == ["train", "best epoch, 2"]
    assert np.asarray(lines["train"].get_ydata()).tolist() == [1.0, 1 / 2, 1 / 3, 1 / 4]
    lines = {line.get_label(): line for line in score.lines}
    assert np.asarray(lines["valid"].get_xdata()).tolist() == [1, 2, 4]
    assert np.asarray(lines["valid"].get_ydata()).tolist() == [0.5, 0.8, 0.7]
    assert score.get_ylabel() == "accuracy"


def test_a_run_that_has_not_ended_has_no_best_epoch() -> None:
    _, score = curves(metric_rows(), "rmse").axes
    assert [line.get_label() for line in score.lines] == ["valid"]


@pytest.mark.parametrize("layers", [1, 7, 112])
def test_every_layer_has_a_line(layers: int) -> None:
    axes = layers_over_epochs(dynamic_rows(layers), "beta").axes[0]
    assert len(axes.lines) == layers
    assert np.asarray(axes.lines[-1].get_ydata()).tolist() == [1 + layers * epoch / 10 for epoch in (1, 2, 3)]
    assert len({line.get_color() for line in axes.lines}) == layers


def test_only_what_changes_is_learned() -> None:
    rows = dynamic_rows(3)
    assert [name for name in ("beta", "p", "y", "s") if learned(rows, name)] == ["beta"]


@pytest.mark.plots
def test_the_files_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))
    run = Run.open(make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"])))
    for name, columns, rows in (
        ("metrics.csv", METRIC_COLUMNS, metric_rows()),
        ("dynamics.csv", DYNAMIC_COLUMNS, dynamic_rows(2)),
    ):
        lines = [",".join("" if row[c] is None else str(row[c]) for c in columns) for row in rows]
        write_text(run.path / name, "\n".join([",".join(columns), *lines]) + "\n")
    files = write_plots(run)
    assert [file.relative_to(run.path).as_posix() for file in files] == ["plots/curves.png", "plots/beta.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
