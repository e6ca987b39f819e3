"""Predictions compared with the labels of the test part: confusion matrix, ROC, scatter plot and worst errors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from deepergcn.data.task import Task
from deepergcn.report.charts.line_chart import PALETTE, Line, LineChart, Point, thin
from deepergcn.report.molecules import draw_molecule

_MOST_CURVES = 5
_MOST_CLASSES = 40
_MOST_POINTS = 400
_WORST = 12

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Truth and prediction for the items of a part.

    Attributes:
        task: the task.
        names: the names of the outputs.
        ids: the names of the items.
        truth: [items, outputs], or [items] class indices; NaN or -1 for a missing label.
        values: [items, outputs]: probabilities, or the values of a regression.
        smiles: the SMILES of an item by its place, where the items are molecules.
        classes: the names of the two classes of a binary task, the positive one second.
    """

    task: Task
    names: tuple[str, ...]
    ids: tuple[str, ...]
    truth: Floats
    values: Floats
    smiles: Callable[[int], str] | None = None
    classes: tuple[str, str] = ("0", "1")


@dataclass(frozen=True)
class Confusion:
    """A confusion matrix: counts by true and predicted class, with the share of the true class."""

    names: tuple[str, ...]
    lines: tuple[tuple[str, tuple[tuple[int, float], ...]], ...]


@dataclass(frozen=True)
class WorstError:
    """An item with a large error; ``picture`` is an SVG of the molecule, or empty."""

    name: str
    text: str
    picture: Markup


def outcome_charts(found: Outcomes) -> list[LineChart]:
    """ROC curves, or scatter plots of predicted against true values."""
    if found.task.kind == "regression":
        return [_scatter(found, column) for column in range(min(len(found.names), _MOST_CURVES))]
    if found.task.kind == "multi-class":
        return []
    columns = range(len(found.names)) if len(found.names) <= _MOST_CURVES else ()
    lines = [_roc(found.names[c], found.truth[:, c], found.values[:, c], PALETTE[c]) for c in columns]
    if len(found.names) > 1:
        lines.append(_roc("all outputs together", found.truth.ravel(), found.values.ravel(), PALETTE[7]))
    chance = Line("chance", (Point(0, 0), Point(1, 1)), PALETTE[7], "dashed")
    return [LineChart("ROC, test part", "false positive rate", "true positive rate", (*lines, chance))]


def confusion(found: Outcomes) -> Confusion | None:
    """The confusion matrix of a binary or multi-class task; None for other tasks and for too many classes."""
    if found.task.kind == "multi-class":
        names, truth, predicted = found.names, found.truth.astype(int), found.values.argmax(1)
    elif found.task.kind == "binary":
        known = np.isfinite(found.truth[:, 0])
        names = found.classes
        truth, predicted = np.where(known, found.truth[:, 0], -1).astype(int), (found.values[:, 0] > 0.5).astype(int)
    else:
        return None
    if len(names) > _MOST_CLASSES:
        return None
    lines = []
    for number, name in enumerate(names):
        counts = np.bincount(predicted[truth == number], minlength=len(names)).tolist()
        total = max(sum(counts), 1)
        lines.append((name, tuple((count, round(0.8 * count / total, 3)) for count in counts)))
    return Confusion(tuple(names), tuple(lines))


def worst_errors(found: Outcomes) -> list[WorstError]:
    """The items with the largest errors, in descending order."""
    if found.task.kind == "multi-class":
        truth = found.truth.astype(int)
        error = np.where(truth >= 0, 1 - found.values[np.arange(len(truth)), truth], -1.0)
        texts = [
            f"label {found.names[t]}, predicted {found.names[int(v.argmax())]} ({v.max():.2f})" if t >= 0 else ""
            for t, v in zip(truth, found.values, strict=True)
        ]
    else:
        gap = np.abs(found.truth - found.values)
        known = np.isfinite(gap)
        error = np.where(known.any(1), np.where(known, gap, 0).sum(1) / np.maximum(known.sum(1), 1), -1.0)
        pairs = zip(found.truth[:, 0], found.values[:, 0], strict=True)
        if found.task.kind == "binary":
            texts = [
                f"label {found.classes[int(true)]}, p({found.classes[1]}) {value:.2f}" if np.isfinite(true) else ""
                for true, value in pairs
            ]
        elif len(found.names) == 1:
            texts = [f"label {true:.4g}, predicted {value:.4g}" for true, value in pairs]
        else:
            texts = [
                f"mean error {value:.3f} over {count} outputs" for value, count in zip(error, known.sum(1), strict=True)
            ]
    order = np.argsort(-error, kind="stable")[:_WORST]
    chosen = [int(place) for place in order if error[place] > 0]
    pictures = ["" if found.smiles is None else draw_molecule(found.smiles(place)) for place in chosen]
    if not all(pictures):
        pictures = [""] * len(chosen)
    drawn = zip(chosen, map(Markup, pictures), strict=True)
    return [WorstError(found.ids[place], texts[place], picture) for place, picture in drawn]


def _roc(name: str, truth: Floats, values: Floats, colour: str) -> Line:
    known = np.isfinite(truth)
    truth, values = truth[known], values[known]
    order = np.argsort(-values, kind="stable")
    steps = np.flatnonzero(np.diff(values[order], append=-np.inf))
    hits, misses = np.cumsum(truth[order])[steps], np.cumsum(1 - truth[order])[steps]
    points: Sequence[Point] = []
    if len(hits) and hits[-1] and misses[-1]:
        points = [
            Point(0, 0),
            *(Point(float(x), float(y)) for x, y in zip(misses / misses[-1], hits / hits[-1], strict=True)),
        ]
    return Line(name, thin(points, 200), colour)


def _scatter(found: Outcomes, column: int) -> LineChart:
    truth, values = found.truth[:, column], found.values[:, column]
    known = np.isfinite(truth)
    points = [
        Point(float(x), float(y), note=found.ids[place])
        for place, (x, y) in enumerate(zip(truth, values, strict=True))
        if known[place]
    ]
    low, high = (float(truth[known].min()), float(truth[known].max())) if known.any() else (0.0, 1.0)
    same = Line("predicted = true", (Point(low, low), Point(high, high)), PALETTE[7], "dashed")
    dots = Line("test part", thin(points, _MOST_POINTS), PALETTE[0], "dots")
    name = found.names[column]
    return LineChart(f"{name}, predicted against true", "true", "predicted", (dots, same))
