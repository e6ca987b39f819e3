"""The random forest of descriptors: exactly scikit-learn's, as arrays, at the true frequencies of classes."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from torch.testing import assert_close

from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.read import read_molecules
from deepergcn.data.seeds import derive
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.recipes.schema import BlendSection
from deepergcn.runs.model.forest import Forest, filled, unweighted
from deepergcn.training.forests.fit import calibrated, check_forest, class_weights, fit_forest
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules
from tests.training.trained import molecule_file

NAMES = ("maccs", "rdkit")
SECTION = BlendSection(trees=7, min_leaf=1)


def data(folder: Path, kind: str) -> Dataset:
    """12 molecules with descriptors, some in every part."""
    return read_molecules(
        molecule_file(folder, kind), targets="target", descriptors=NAMES, fractions=(0.7, 0.2, 0.1), root=folder
    )


@pytest.mark.parametrize("kind", ["classes", "binary", "numbers"])
def test_the_forest_predicts_what_that_of_scikit_learn_does(tmp_path: Path, kind: str) -> None:
    dataset = data(tmp_path, kind)
    forest = fit_forest(dataset, SECTION, seed=3)
    train_part = dataset.split["train"]
    x, every = (filled(dataset, items, forest.fill) for items in (train_part, torch.arange(len(dataset))))
    y = dataset.y[train_part].numpy().ravel()
    options = {"n_estimators": 7, "min_samples_leaf": 1, "random_state": derive(3, "forest", 0) % (1 << 31)}
    if kind == "numbers":
        expected = RandomForestRegressor(max_features=1 / 3, **options).fit(x, y).predict(every)[:, None]
    else:
        fitted = RandomForestClassifier(max_features="sqrt", **options).fit(x, y.astype(np.int64))
        expected = fitted.predict_proba(every)[:, 1:] if kind == "binary" else fitted.predict_proba(every)
    np.testing.assert_allclose(forest(dataset, torch.arange(len(dataset))).numpy(), expected, rtol=1e-12, atol=1e-15)


def test_every_target_has_its_own_forest_and_one_without_labels_says_nothing(tmp_path: Path) -> None:
    one = data(tmp_path, "numbers")
    y = torch.cat((one.y, one.y * 10, torch.full_like(one.y, torch.nan)), 1)
    dataset = one.replace(y=y, task=Task("graph", "regression", 3, "rmse"), label_names=("a", "b", "c"))
    found = fit_forest(dataset, SECTION, seed=0)(dataset, torch.arange(len(dataset)))
    alone = fit_forest(one, SECTION, seed=0)(one, torch.arange(len(one)))
    assert_close(found[:, :1], alone)
    assert not torch.equal(found[:, 1], 10 * found[:, 0])
    assert not bool(found[:, 2].any())


def grown(dataset: Dataset, columns: slice | None = None, bits: bool = False, **options: Any) -> np.ndarray:
    """The probabilities of scikit-learn's forest with the settings of SECTION and these options."""
    everything = torch.arange(len(dataset))
    fill = fit_forest(dataset, SECTION, seed=3).fill
    x = filled(dataset, everything, fill)[:, columns or slice(None)]
    x = np.minimum(x, 1) if bits else x
    items = dataset.split["train"]
    options = {"n_estimators": 7, "random_state": derive(3, "forest", 0) % (1 << 31)} | options
    y = dataset.y[items].numpy().ravel().astype(np.int64)
    found: np.ndarray = RandomForestClassifier(max_features="sqrt", **options).fit(x[items], y).predict_proba(x)
    return found


def test_weights_of_classes_are_those_of_scikit_learn_and_taken_out_of_the_probabilities(tmp_path: Path) -> None:
    dataset = data(tmp_path, "binary")
    everything = torch.arange(len(dataset))
    q = grown(dataset, criterion="entropy", min_samples_leaf=3, class_weight={0: 1, 1: 10})[:, 1:]
    section = BlendSection(trees=7, min_leaf=3, criterion="entropy", class_weight=10)
    np.testing.assert_allclose(fit_forest(dataset, section, 3)(dataset, everything), q / (q + 10 * (1 - q)), rtol=1e-12)
    classes = data(tmp_path, "classes")
    every = grown(classes, min_samples_leaf=3, class_weight="balanced")
    section = BlendSection(trees=7, min_leaf=3, class_weight="balanced")
    weight = class_weights(classes.task, classes.y[classes.split["train"]], "balanced")
    expected = every / weight / (every / weight).sum(1, keepdims=True)
    np.testing.assert_allclose(fit_forest(classes, section, 3)(classes, everything), expected, rtol=1e-12)
    np.testing.assert_allclose(expected.sum(1), 1)


def test_probabilities_without_weights_are_those_of_the_labels_that_they_were_learned_from() -> None:
    positive, negative = np.array([3.0, 0.0, 5.0, 1.0]), np.array([1.0, 4.0, 0.0, 900.0])
    for w in (0.1, 1.0, 10.0, 1e6):
        q = (w * positive / (w * positive + negative))[:, None]
        np.testing.assert_allclose(unweighted(q, np.array([w])), (positive / (positive + negative))[:, None])
    counts, weight = np.array([[3.0, 1.0, 6.0], [0.0, 2.0, 8.0]]), np.array([5.0, 0.5, 2.0])
    q = counts * weight / (counts * weight).sum(1, keepdims=True)
    np.testing.assert_allclose(unweighted(q, weight), counts / 10)
    q = np.random.default_rng(0).random((100, 1))
    assert (unweighted(q, np.array([7.0])).argsort(0) == q.argsort(0)).all()


def rare_positives(numbers: int = 1) -> Dataset:
    """3000 items, 5 % of them positive, more where their first number is large, and never known for sure."""
    rng = np.random.default_rng(0)
    x = rng.random((3000, numbers), dtype=np.float32)
    y = rng.random((3000, 1)) < 0.1 * x[:, :1]
    known = SimpleNamespace(
        name="generated",
        task=Task("graph", "binary", 1, "rocauc"),
        y=torch.from_numpy(y).float(),
        fingerprints=None,
        descriptors=torch.from_numpy(x),
        split={"train": torch.arange(2000), "valid": torch.arange(2000, 3000)},
    )
    return cast(Dataset, known)


def test_a_forest_with_weights_predicts_as_many_positives_as_there_are() -> None:
    dataset = rare_positives()
    valid = dataset.split["valid"]
    forest = fit_forest(dataset, BlendSection(trees=50, min_leaf=100, class_weight=20), 0)
    share = float(dataset.y[valid].mean())
    assert float(forest(dataset, valid).mean()) == pytest.approx(share, abs=0.015)
    uncorrected = replace(forest, class_weight=torch.ones_like(forest.class_weight))
    assert float(uncorrected(dataset, valid).mean()) > 5 * share


def test_calibration_gives_the_share_of_positives_and_keeps_their_order() -> None:
    dataset = rare_positives(10)
    valid = dataset.split["valid"]
    share = float(dataset.y[valid].mean())
    sure = fit_forest(dataset, BlendSection(trees=50, min_leaf=2, class_weight=20), 0)
    assert float(sure(dataset, valid).mean()) < 0.5 * share  # trees that disagree, corrected for their weights
    forest = calibrated(sure, dataset)
    assert forest.calibration is not None
    # At the minimum the residuals add up to what pulls the shift to 0, 0.01 times the shift.
    pulled = 0.01 * abs(forest.calibration.shift[0]) / len(valid)
    probabilities = forest(dataset, valid)[:, 0]
    assert float(probabilities.mean()) == pytest.approx(share, abs=pulled + 1e-6)
    order = sure(dataset, valid)[:, 0].argsort(stable=True)
    assert bool((probabilities[order].diff() >= -1e-14).all())  # equal ones may be rounded apart
    assert_close(probabilities, forest.calibration(sure.log_odds(dataset, valid)).sigmoid()[:, 0])


def test_only_forests_with_weights_are_calibrated(tmp_path: Path) -> None:
    for kind, weight in (("binary", 1.0), ("numbers", 1.0), ("classes", 1.0)):
        dataset = data(tmp_path, kind)
        forest = fit_forest(dataset, BlendSection(trees=5, class_weight=weight), 0)
        assert calibrated(forest, dataset) is forest
    classes = data(tmp_path, "classes")
    forest = calibrated(fit_forest(classes, BlendSection(trees=5, class_weight="balanced"), 0), classes)
    assert forest.calibration is not None
    found = forest(classes, torch.arange(len(classes)))
    assert_close(found.sum(1), torch.ones(len(classes), dtype=torch.float64))
    assert bool((found > 0).all())


def test_balanced_classes_weigh_the_same() -> None:
    task = Task("graph", "multi-class", 4, "accuracy")
    labels = torch.tensor([0, 0, 0, 1, 2, 2, -1])
    weight = class_weights(task, labels, "balanced")
    np.testing.assert_allclose(weight[:3] * [3, 1, 2], 2.0)
    assert weight[3] == 1
    binary = Task("graph", "multi-label", 2, "rocauc")
    assert class_weights(binary, torch.tensor([0.0, 0, 0, 1, torch.nan]), "balanced").tolist() == [3.0]
    assert class_weights(binary, torch.tensor([1.0, 1]), "balanced").tolist() == [1.0]
    assert class_weights(binary, torch.tensor([0.0, 1]), 10).tolist() == [10.0]


def test_a_forest_of_some_descriptors_or_of_bits_predicts_from_all_counts(tmp_path: Path) -> None:
    dataset = data(tmp_path, "binary")
    everything = torch.arange(len(dataset))
    assert dataset.fingerprints is not None
    counts = dataset.fingerprints * 3
    dataset = dataset.replace(fingerprints=counts)
    for names, columns in ((("maccs",), slice(0, 167)), (("rdkit",), slice(167, None)), (None, None)):
        for bits in (False, True) if names == ("maccs",) else (False,):
            section = BlendSection(trees=7, min_leaf=1, descriptors=names, bits=bits)
            found = fit_forest(dataset, section, 3, NAMES)
            expected = grown(dataset, columns, bits, min_samples_leaf=1)[:, 1:]
            np.testing.assert_allclose(found(dataset, everything), expected, rtol=1e-12, atol=1e-15)
    section = BlendSection(trees=7, min_leaf=1, bits=True)
    forest = fit_forest(dataset, section, 3)
    asked = (forest.feature >= 0) & (forest.feature < 167)
    assert bool(asked.any())
    assert bool((forest.threshold[asked] == 0.5).all())


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("numbers", {"criterion": "entropy"}, r"blend\.criterion is entropy, .*expected the default, gini"),
        ("numbers", {"class_weight": 10}, r"blend\.class_weight is 10.*expected 1 for a regression"),
        ("numbers", {"class_weight": "balanced"}, r"blend\.class_weight is balanced; expected 1"),
        ("classes", {"class_weight": 10}, r"blend\.class_weight is 10, .*expected 1 or balanced"),
        ("binary", {"descriptors": ("morgan",)}, r"blend\.descriptors has morgan; expected some of .*maccs, rdkit"),
        ("binary", {"descriptors": ()}, r"blend\.descriptors: expected at least one"),
        ("binary", {"descriptors": ("maccs", "maccs")}, r"blend\.descriptors: .*each once"),
    ],
)
def test_settings_that_do_not_fit_the_task_are_refused(
    tmp_path: Path, kind: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check_forest(BlendSection(**settings), data(tmp_path, kind), NAMES)


def test_bits_need_counts_and_refusals_come_before_training(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path), "data.descriptors=[properties]", "blend={trees: 5, bits: true}")
    with pytest.raises(InputError, match=r"blend\.bits: .*expected morgan or maccs"):
        train(settings=settings, out=tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()
    for wrong in ("blend={class_weight: 0}", "blend={class_weight: .inf}", "blend={criterion: squared_error}"):
        with pytest.raises(InputError, match=r"blend\.c"):
            train(settings=molecule_settings(molecules(tmp_path), wrong), out=tmp_path / "run")


def test_a_damaged_forest_is_refused(tmp_path: Path) -> None:
    dataset = data(tmp_path, "binary")
    tensors = fit_forest(dataset, SECTION, seed=0).tensors()
    origin = "model.safetensors"
    assert Forest.from_tensors(tensors, dataset.task, origin).trees == 7
    endless = tensors | {"forest.right": torch.zeros_like(tensors["forest.right"])}
    strange = tensors | {"forest.feature": tensors["forest.feature"] + 10_000}
    weightless = tensors | {"forest.class_weight": torch.zeros_like(tensors["forest.class_weight"])}
    several = tensors | {"forest.class_weight": torch.ones(1, 2, dtype=torch.float64)}
    for wrong in (endless, strange, weightless, several):
        with pytest.raises(InputError, match="its forest is damaged"):
            Forest.from_tensors(wrong, dataset.task, origin)
    old = {name: values for name, values in tensors.items() if name != "forest.class_weight"}
    assert_close(Forest.from_tensors(old, dataset.task, origin).class_weight, torch.ones(1, 1, dtype=torch.float64))
    with pytest.raises(InputError, match=r"forest\.value is damaged"):
        Forest.from_tensors(tensors | {"forest.value": torch.zeros(3)}, dataset.task, origin)
