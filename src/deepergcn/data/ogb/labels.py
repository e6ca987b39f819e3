"""The labels of OGB's layout: numbers without names; classes are counted from 0."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor

from deepergcn.data.labels import MOST_OUTPUTS, joint_kind, label_array, numbered_kind
from deepergcn.data.ogb.numbers import count
from deepergcn.data.task import METRICS, Level, Task
from deepergcn.errors import InputError

Labels = npt.NDArray[np.float64]


def infer_task(values: Labels, level: Level, path: Path) -> Task:
    """Infer the task of labels [items, columns] of ``path``, NaN if missing; see :mod:`deepergcn.data.labels`."""
    known = [column[~np.isnan(column)] for column in values.T]
    kind = joint_kind([numbered_kind(column) for column in known]) or "regression"
    outputs = values.shape[1]
    if kind == "multi-class":
        outputs = int(known[0].max()) + 1
        if outputs > MOST_OUTPUTS:
            row = int(np.nanargmax(values[:, 0]))
            raise InputError(
                f"{path}, row {row + 1}: the label is {outputs - 1}; expected a class below {MOST_OUTPUTS}, "
                "or a task that says what the labels are"
            )
    return Task(level, kind, outputs, METRICS[kind][0])


def targets(values: Labels, task: Task, path: Path) -> Tensor:
    """Convert labels to the form of a dataset; an error names the row of ``path`` that does not fit the task."""
    columns = 1 if task.kind == "multi-class" else task.outputs
    if values.shape[1] != columns:
        found, expected = count(values.shape[1], "column"), count(columns, "column")
        raise InputError(f"{path}: has {found}; a {task.kind} task has {expected}")
    if task.kind == "multi-class":
        fits = (values >= 0) & (values < task.outputs) & (values == np.floor(values))
        expected = f"a class from 0 to {task.outputs - 1}"
    elif task.kind == "regression":
        with np.errstate(over="ignore"):
            fits = np.isfinite(values.astype(np.float32))
        expected = "a finite number within float32"
    else:
        fits = (values == 0) | (values == 1)
        expected = "0 or 1"
    wrong = np.argwhere(~(fits | np.isnan(values)))
    if len(wrong):
        row, column = wrong[0]
        place = f"row {row + 1}" if columns == 1 else f"row {row + 1}, column {column + 1}"
        raise InputError(f"{path}, {place}: the label is {values[row, column]:.17g}; expected {expected}")
    return label_array(values, task.kind)
