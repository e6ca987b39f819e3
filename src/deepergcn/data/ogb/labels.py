"""From a table of labels to the task and its targets."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.ogb.numbers import Numbers, count
from deepergcn.data.task import METRICS, Kind, Level, Task
from deepergcn.errors import InputError


def infer_task(values: Numbers, level: Level) -> Task:
    """The task that labels [items, columns] with NaN for missing ones suggest.

    Only zeros and ones are binary (one column) or multi-label (several); one column of integers from 0 up is
    multi-class; all else is a regression.
    """
    known = values[~np.isnan(values)]
    columns = values.shape[1]
    if bool(np.isin(known, (0, 1)).all()):
        kind: Kind = "binary" if columns == 1 else "multi-label"
        outputs = columns
    elif columns == 1 and bool(((known >= 0) & (known == np.floor(known)) & np.isfinite(known)).all()):
        kind, outputs = "multi-class", int(known.max()) + 1
    else:
        kind, outputs = "regression", columns
    return Task(level, kind, outputs, METRICS[kind][0])


def targets(values: Numbers, task: Task, path: Path) -> Tensor:
    """The labels as a dataset holds them; an error names the row of ``path`` that does not fit the task."""
    columns = 1 if task.kind == "multi-class" else task.outputs
    if values.shape[1] != columns:
        found, expected = count(values.shape[1], "column"), count(columns, "column")
        raise InputError(f"{path}: has {found}; a {task.kind} task has {expected}")
    missing = np.isnan(values)
    if task.kind == "multi-class":
        fits = (values >= 0) & (values < task.outputs) & (values == np.floor(values))
        expected = f"a class from 0 to {task.outputs - 1}"
    elif task.kind == "regression":
        fits = np.isfinite(values)
        expected = "a finite number"
    else:
        fits = (values == 0) | (values == 1)
        expected = "0 or 1"
    wrong = np.argwhere(~(fits | missing))
    if len(wrong):
        row, column = wrong[0]
        place = f"row {row + 1}" if columns == 1 else f"row {row + 1}, column {column + 1}"
        raise InputError(f"{path}, {place}: the label is {values[row, column]:g}; expected {expected}")
    if task.kind == "multi-class":
        return torch.from_numpy(np.where(missing, -1, values)[:, 0].astype(np.int64))
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
