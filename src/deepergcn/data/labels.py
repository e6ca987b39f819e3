"""The rule that infers the kind of a task from labels, and the array of labels in a dataset.

A reader describes each column; the rule is the same for all readers. They differ only in what a class is: OGB
numbers its classes from 0 (:func:`numbered_column`), a user's table names them (:func:`named_column`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.task import Kind

MOST_CLASSES = 50
"""A column with more distinct values than this is not taken as classes unless the kind is given."""
MOST_OUTPUTS = 1 << 24
"""The largest number of classes in OGB's numbering: a larger number is not a class."""


@dataclass(frozen=True)
class LabelColumn:
    """A column of labels, without missing ones.

    Args:
        two_valued: whether it has two values, such as yes and no.
        classes: whether its values are classes.
        numeric: whether its values are numbers.
    """

    two_valued: bool
    classes: bool
    numeric: bool


def named_column(names: Sequence[str], *, numeric: bool) -> LabelColumn:
    """A column of a user's table with these distinct values: text and integers are classes."""
    whole = not numeric or not any("." in name or "e" in name for name in names)
    return LabelColumn(len(names) == 2, whole and len(names) <= MOST_CLASSES, numeric)


def numbered_column(known: npt.NDArray[np.float64]) -> LabelColumn:
    """A column of OGB with these numbers: integers from 0 are classes, and 0 and 1 are no and yes."""
    classes = bool(((known >= 0) & (known == np.floor(known)) & np.isfinite(known)).all())
    return LabelColumn(bool(np.isin(known, (0, 1)).all()), classes, numeric=True)


def infer_kind(columns: Sequence[LabelColumn]) -> Kind | None:
    """Infer the kind of the task; ``None`` for several columns with text that are not all two-valued.

    One two-valued column is a binary task, several are multi-label; one column of classes is multi-class; other
    columns of numbers are a regression.
    """
    if all(column.two_valued for column in columns):
        return "binary" if len(columns) == 1 else "multi-label"
    if len(columns) == 1 and columns[0].classes:
        return "multi-class"
    return "regression" if all(column.numeric for column in columns) else None


def label_array(values: npt.NDArray[np.float64], kind: Kind) -> Tensor:
    """Numbers [items, columns], NaN if missing, in the form of :class:`deepergcn.data.Dataset` for this kind."""
    if kind == "multi-class":
        return torch.from_numpy(np.where(np.isnan(values), -1, values)[:, 0].astype(np.int64))
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
