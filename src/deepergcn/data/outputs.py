"""What the outputs of a task are called in a file, so that none can be taken for another."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deepergcn.data.task import Task

Floats = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.int64]


def output_columns(
    task: Task, names: Sequence[str], classes: Sequence[tuple[str, str]], values: Floats, decided: Codes
) -> dict[str, list[Any]]:
    """Columns by name, None where a row has no values.

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
