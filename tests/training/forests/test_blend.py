"""A random forest beside a network: stored in its file, weighed by validation."""

import os
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from torch.testing import assert_close

from deepergcn.data.dataset import Dataset
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.inference.export import example, export
from deepergcn.inference.predictor import load
from deepergcn.report.page import run_page
from deepergcn.runs.dataset import load_data
from deepergcn.runs.model.blend import BlendRecord, mixed
from deepergcn.runs.model.calibration import Calibration
from deepergcn.runs.model.model_file import load_model
from deepergcn.runs.model.outputs import to_probabilities
from deepergcn.runs.run import Run
from deepergcn.training.forests.blend import choose_weight, fit_blend
from deepergcn.training.signals import Interrupted
from deepergcn.training.train import train
from tests.training.forests.test_fit import data
from tests.training.small import molecule_settings, molecules, trained_run

SETTINGS = (
    "data.descriptors=[maccs]",
    "blend={trees: 5, class_weight: 10}",
    "training.epochs=1",
    "model.num_layers=2",
)


@pytest.mark.parametrize("calibration", [None, Calibration(scale=(0.7,), shift=(-1.5,))])
def test_a_mixture_has_the_mean_of_the_log_odds(calibration: Calibration | None) -> None:
    task = Task("graph", "binary", 1, "rocauc")
    outputs, forest = torch.tensor([[-3.0], [0.2], [30.0]]), torch.tensor([[2.0], [-7.0], [4.0]], dtype=torch.float64)
    calibrated = outputs if calibration is None else calibration(outputs)
    together = mixed(task, outputs, forest, 0.25, calibration, "log-odds")
    assert_close(together if calibration is None else calibration(together), 0.75 * calibrated + 0.25 * forest.float())
    assert mixed(task, outputs, forest, 0.0, calibration, "log-odds") is outputs


@pytest.mark.parametrize("calibration", [None, Calibration(scale=(1.5,), shift=(1.0, 0.0, -0.5))])
def test_a_mixture_of_classes_is_the_geometric_mean_of_the_probabilities(calibration: Calibration | None) -> None:
    task = Task("graph", "multi-class", 3, "accuracy")
    draw = torch.Generator().manual_seed(0)
    outputs, forest = torch.randn(4, 3, generator=draw), torch.randn(4, 3, generator=draw, dtype=torch.float64)
    ours = outputs if calibration is None else calibration(outputs)
    expected = ours.softmax(1) ** 0.75 * forest.float().softmax(1) ** 0.25
    together = mixed(task, outputs, forest.log_softmax(1), 0.25, calibration, "log-odds")
    found = (together if calibration is None else calibration(together)).softmax(1)
    assert_close(found, expected / expected.sum(1, keepdim=True))


@pytest.mark.parametrize("calibration", [None, Calibration(scale=(0.7,), shift=(-1.5,))])
def test_a_mixture_has_the_mean_of_the_probabilities(calibration: Calibration | None) -> None:
    task = Task("graph", "binary", 1, "rocauc")
    outputs, forest = torch.tensor([[-3.0], [0.2], [30.0]]), torch.tensor([[0.9], [0.0], [1.0]], dtype=torch.float64)
    calibrated = outputs if calibration is None else calibration(outputs)
    expected = 0.75 * calibrated.sigmoid() + 0.25 * forest
    together = mixed(task, outputs, forest, 0.25, calibration)
    assert_close((together if calibration is None else calibration(together)).sigmoid(), expected.float())
    assert mixed(task, outputs, forest, 0.0, calibration) is outputs


def test_the_weight_is_the_best_of_the_validation_part(tmp_path: Path) -> None:
    dataset = data(tmp_path, "numbers")
    valid = dataset.split["valid"]
    truth = dataset.y[valid]
    off = torch.tensor([[1.0], [-2.0]])[: len(valid)]
    assert choose_weight(dataset, truth + off, (truth - off).double(), valid, None) == 0.5
    assert choose_weight(dataset, truth + off, truth.double(), valid, None) == 1.0
    assert choose_weight(dataset, truth, (truth + off).double(), valid, None) == 0.0


def test_weights_that_few_items_cannot_tell_apart_give_way_to_a_half(tmp_path: Path) -> None:
    one = data(tmp_path, "numbers")
    draw = torch.Generator().manual_seed(0)
    for items, expected in ((20, 0.5), (20_000, 0.6)):
        truth, noise = torch.randn(items, 1, generator=draw), torch.randn(items, 2, generator=draw)
        valid = torch.arange(items)
        known = SimpleNamespace(task=one.task, y=truth, split={"train": valid})
        network, forest = truth + 1.225 * noise[:, :1], truth + noise[:, 1:]  # best at 1.5 / (1 + 1.5) = 0.6
        assert choose_weight(cast(Dataset, known), network, forest.double(), valid, None) == pytest.approx(expected)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_run(tmp_path_factory.mktemp("blended"), *SETTINGS)


def test_a_run_keeps_scores_and_predictions_of_both_together(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(run.parent / "data"))
    summary = Run.open(run).summary()
    assert summary is not None
    assert summary.blend is not None
    model = load(run)
    assert model.blend is not None
    assert model.blend.weight == summary.blend.weight
    assert model.blend.forest.calibration is not None
    assert model.evaluate(["test"])["test"] == pytest.approx(summary.test_score)
    shutil.copy(run / "model.safetensors", tmp_path / "model.safetensors")
    alone = load(tmp_path / "model.safetensors")
    found = alone.predict(["CCO", "CCN"])
    np.testing.assert_array_equal(found.values, model.predict(["CCO", "CCN"]).values)
    assert f"{summary.blend.weight:.0%} random forest of 5 trees" in found.made_of
    assert any(name == "blend" and "forest alone rocauc" in text for name, text in run_page(run).facts)


def test_a_run_may_average_log_odds(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(run.parent / "data"))
    monkeypatch.setattr("deepergcn.training.forests.blend.choose_weight", lambda *_: 0.5)
    file = run.parent / "molecules.csv"
    other = train(settings=molecule_settings(file, *SETTINGS, "blend.averages=log-odds"), out=tmp_path / "run")
    trained, summary = load_model(other.model_file), other.summary()
    assert trained.blend is not None
    assert trained.blend.averages == "log-odds"
    assert summary is not None
    assert load(other.path).evaluate(["test"])["test"] == pytest.approx(summary.test_score)
    dataset, items, outputs = load_data(trained.recipe), torch.arange(3), torch.tensor([[1.0], [-2.0], [0.0]])
    found = trained.blend(dataset.task, outputs, dataset, items, None)
    assert_close(found, (outputs + trained.blend.forest.outputs(dataset.task, dataset, items).float()) / 2)


def test_a_record_that_does_not_say_what_is_averaged_averages_probabilities() -> None:
    assert BlendRecord.model_validate({"weight": 0.5}).averages == "probabilities"


def test_a_signal_while_the_forest_is_fitted_stops_and_the_rest_follows(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(run.parent / "data"))
    fit, calls = RandomForestClassifier.fit, []

    def fit_and_signal(forest: RandomForestClassifier, *arguments: Any) -> RandomForestClassifier:
        calls.append(forest.n_estimators)
        os.kill(os.getpid(), signal.SIGINT)
        return cast(RandomForestClassifier, fit(forest, *arguments))

    with monkeypatch.context() as patch:
        patch.setattr("deepergcn.training.forests.fit._TREES", 2)
        patch.setattr(RandomForestClassifier, "fit", fit_and_signal)
        with pytest.raises(Interrupted, match="stopped by SIGINT while its forest was fitted; all is saved"):
            train(settings=molecule_settings(run.parent / "molecules.csv", *SETTINGS), out=tmp_path / "run")
    assert calls == [2]
    assert Run.open(tmp_path / "run").summary() is None
    resumed, whole = train(out=tmp_path / "run", resume=True).summary(), Run.open(run).summary()
    assert resumed is not None
    assert whole is not None
    assert resumed.blend == whole.blend


def test_the_network_of_a_blend_is_exported_alone(run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = load(run)
    assert "descriptors" in export(model, tmp_path / "model.pt2", "torch-export")
    assert "only the network is exported, but predictions are" in caplog.text
    program, inputs = torch.export.load(tmp_path / "model.pt2").module(), example(model)
    graph = {"x": inputs["x"], "edge_index": inputs["edge_index"], "edge_attr": inputs["edge_attr"]}
    batch = torch.repeat_interleave(torch.arange(len(inputs["ptr"]) - 1), inputs["ptr"].diff())
    with torch.no_grad():
        outputs = model.network(**graph, batch=batch, descriptors=inputs["descriptors"])
        assert_close(program(*inputs.values()), to_probabilities(model.task, outputs, model.calibration))


def test_a_forest_of_weight_0_is_left_out(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(run.parent / "data"))
    copy = Run.open(shutil.copytree(run, tmp_path / "run"))
    summary = copy.summary()
    assert summary is not None
    monkeypatch.setattr("deepergcn.training.forests.blend.choose_weight", lambda *_: 0.0)
    found = fit_blend(copy, load_data(copy.recipe), summary)
    assert found.blend is not None
    assert found.blend.weight == 0
    assert found.test_score == found.blend.network_test
    model = load(copy.path)
    assert model.blend is None
    assert not model.predict(["CCO"]).made_of


def test_a_forest_needs_descriptors(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path), "blend={trees: 5}")
    with pytest.raises(InputError, match=r"blend: .*expected data.descriptors"):
        train(settings=settings, out=tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()
