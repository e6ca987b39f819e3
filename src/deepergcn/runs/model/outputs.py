"""What the outputs of a run's network mean: names, probabilities, decisions, and the columns of a file."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from deepergcn.data.provenance import label_schema
from deepergcn.data.task import Task
from deepergcn.runs.model.calibration import Calibration
from deepergcn.runs.run import RunInfo

Floats = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.int64]


def output_names(info: RunInfo) -> tuple[str, ...]:
    """The names of the outputs; numbers where they have none."""
    task = info.inputs.task
    if info.label_names:
        return info.label_names
    if task.kind == "regression":
        return ("value",) if task.outputs == 1 else tuple(f"value_{number}" for number in range(task.outputs))
    return tuple(map(str, range(task.outputs)))


def two_classes(info: RunInfo) -> tuple[tuple[str, str], ...]:
    """The names of the two classes of every label, the positive one second; empty for other tasks."""
    task = info.inputs.task.task()
    if task.loss != "bce":
        return ()
    labels = label_schema(info.provenance)
    found = () if labels is None else labels.classes
    named = len(found) == task.outputs and all(len(pair) == 2 for pair in found)
    return tuple((no, yes) for no, yes in found) if named else (("0", "1"),) * task.outputs


def to_probabilities(task: Task, outputs: Tensor, calibration: Calibration | None = None) -> Tensor:
    """From the outputs of a network [items, outputs] to probabilities, or to the numbers of a regression."""
    if task.kind == "regression":
        return outputs
    calibrated = outputs if calibration is None else calibration(outputs)
    return calibrated.softmax(1) if task.kind == "multi-class" else calibrated.sigmoid()


def decided_classes(task: Task, values: Floats, calibration: Calibration | None = None) -> Codes:
    """The class of every row and label that the network decides for, as metrics count it; -1 where there are no values.

    That is the class that is most probable before calibration: after a balanced loss the most probable one if all
    classes were equally frequent. Of two classes it is the positive one where its probability is above
    :func:`thresholds`.
    """
    if task.kind == "regression":
        return np.full(values.shape, -1)
    empty = np.isnan(values)
    if task.kind == "multi-class":
        with np.errstate(divide="ignore"):
            scores = np.log(values) - (0.0 if calibration is None else np.array(calibration.shift))
        best = np.where(empty, -np.inf, scores).argmax(1)
        return np.where(empty.any(1), -1, best)[:, None]
    return np.where(empty, -1, values > np.array(thresholds(task, calibration))).astype(np.int64)


def thresholds(task: Task, calibration: Calibration | None) -> tuple[float, ...]:
    """The probability above which each label of a binary or multi-label task is decided to be positive."""
    if calibration is None:
        return (0.5,) * task.outputs
    return tuple(float(1 / (1 + np.exp(-shift))) for shift in calibration.shift)


def output_columns(
    task: Task, names: Sequence[str], classes: Sequence[tuple[str, str]], values: Floats, decided: Codes
) -> dict[str, list[Any]]:
    """The columns of a file by name, so that no output can be taken for another; None where a row has no values.

    A multi-class task has ``class`` and a ``p(NAME)`` for every class; a binary one ``class`` and ``p(NAME)`` of its
    positive class; a multi-label one ``class(LABEL)`` and ``p(LABEL=NAME)`` for every label; a regression a column
    under the name of every target.

    Args:
        task: The task.
        names: The names of its outputs.
        classes: The names of the two classes of every label of a binary or multi-label task, the positive one second.
        values: [rows, outputs], probabilities or numbers, NaN in a row without any.
        decided: [rows, labels], the class that is decided for, or -1.
    """
    if task.kind == "multi-class":
        probabilities = {f"p({name})": cells(column) for name, column in zip(names, values.T, strict=True)}
        return {"class": _named(names, decided[:, 0]), **probabilities}
    columns: dict[str, list[Any]] = {}
    for number, (name, column) in enumerate(zip(names, values.T, strict=True)):
        if task.kind == "regression":
            columns[name] = cells(column)
            continue
        pair, several = classes[number], task.kind == "multi-label"
        columns[f"class({name})" if several else "class"] = _named(pair, decided[:, number])
        columns[f"p({name}={pair[1]})" if several else f"p({pair[1]})"] = cells(column)
    return columns


def beside(inputs: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """The columns of an input and the outputs after them; an output with the name of a column says ``(predicted)``."""
    columns = dict(inputs)
    for name, column in outputs.items():
        while name in columns:
            name += " (predicted)"
        columns[name] = column
    return columns


def cells(values: Floats) -> list[float | None]:
    """The values, None where there are none."""
    return [None if value != value else value for value in values.tolist()]


def _named(names: Sequence[str], codes: Codes) -> list[str | None]:
    return [names[code] if code >= 0 else None for code in codes.tolist()]
