"""Predictions beside the truth: confusion, ROC, predicted against true, and the worst errors first."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from deepergcn.data.task import Task
from deepergcn.report.outcomes import Outcomes, confusion, outcome_charts, worst_errors


def classes() -> Outcomes:
    return Outcomes(
        task=Task("graph", "multi-class", 3, "accuracy"),
        names=("low", "mid", "high"),
        ids=("CCO", "c1ccccc1", "CCN", "CCC"),
        truth=np.array([0.0, 1.0, 1.0, -1.0]),
        values=np.array([[0.9, 0.1, 0.0], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]),
        smiles=("CCO", "c1ccccc1", "CCN", "CCC").__getitem__,
    )


def binary(kind: str = "binary", items: int = 60) -> Outcomes:
    draw = np.random.default_rng(0)
    truth = (draw.random((items, 1)) < 0.4).astype(float)
    values = np.clip(truth * 0.3 + draw.random((items, 1)) * 0.7, 0, 1)
    truth[3] = np.nan
    metric = "mae" if kind == "regression" else "rocauc"
    task = Task("node", kind, 1, metric)  # type: ignore[arg-type]
    return Outcomes(task, ("y",), tuple(f"n{i}" for i in range(items)), truth, values)


def test_confusion_counts_the_items_that_have_a_class() -> None:
    found = confusion(classes())
    assert found is not None
    assert found.names == ("low", "mid", "high")
    assert [[count for count, _ in counts] for _, counts in found.lines] == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
    both = confusion(binary())
    assert both is not None
    assert sum(count for _, counts in both.lines for count, _ in counts) == 59


def test_the_worst_error_comes_first_with_a_picture_of_the_molecule() -> None:
    worst = worst_errors(classes())
    assert [item.name for item in worst] == ["c1ccccc1", "CCN", "CCO"]
    assert worst[0].text == "label mid, predicted low (0.70)"
    assert all(item.picture.startswith("<svg") for item in worst)
    numbers = worst_errors(binary("regression"))
    assert len(numbers) == 12
    assert numbers[0].picture == ""


def test_the_two_classes_of_a_binary_task_have_their_names() -> None:
    found = replace(binary(), classes=("inactive", "active"))
    both = confusion(found)
    assert both is not None
    assert both.names == ("inactive", "active")
    place = int(np.nanargmax(np.abs(found.truth - found.values)))
    name, value = found.classes[int(found.truth[place, 0])], found.values[place, 0]
    assert worst_errors(found)[0].text == f"label {name}, p(active) {value:.2f}"


def test_the_area_under_the_curve_is_the_score() -> None:
    found = binary()
    roc, chance = outcome_charts(found)[0].lines
    assert chance.style == "dashed"
    xs, ys = [point.x for point in roc.points], [point.y for point in roc.points]
    known = np.isfinite(found.truth[:, 0])
    expected = roc_auc_score(found.truth[known, 0], found.values[known, 0])
    assert float(np.trapezoid(ys, xs)) == pytest.approx(expected)


def test_a_regression_is_drawn_against_the_truth() -> None:
    dots, same = outcome_charts(binary("regression"))[0].lines
    assert len(dots.points) == 59
    assert [(point.x, point.y) for point in same.points] == [(0, 0), (1, 1)]
