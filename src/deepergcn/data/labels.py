"""What labels are: the one rule for the kind of a task, and the array of labels that a dataset holds.

A reader describes each of its columns; the rule is the same for all. Readers differ only in what a class is: OGB
numbers its classes from 0 (:func:`numbered_column`), and a user's table names them (:func:`named_column`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.task import Kind

MOST_CLASSES = 50
"""Named classes with more different values than this are not taken for classes unless the kind says so."""
MOST_OUTPUTS = 1 << 24
"""The most classes that OGB's numbering may have: a larger number is no class."""


@dataclass(frozen=True)
class LabelColumn:
    """A column of labels, missing ones left aside.

    Args:
        two_valued: Whether it says yes or no.
        classes: Whether its values are classes.
        numeric: Whether its values are numbers.
    """

    two_valued: bool
    classes: bool
    numeric: bool


def named_column(names: Sequence[str], *, numeric: bool) -> LabelColumn:
    """A column of a user's table with these different values: text or whole numbers are classes."""
    whole = not numeric or not any("." in name or "e" in name for name in names)
    return LabelColumn(len(names) == 2, whole and len(names) <= MOST_CLASSES, numeric)


def numbered_column(known: npt.NDArray[np.float64]) -> LabelColumn:
    """A column of OGB with these numbers: integers from 0 up are classes, and 0 and 1 are no and yes."""
    classes = bool(((known >= 0) & (known == np.floor(known)) & np.isfinite(known)).all())
    return LabelColumn(bool(np.isin(known, (0, 1)).all()), classes, numeric=True)


def infer_kind(columns: Sequence[LabelColumn]) -> Kind | None:
    """The kind of the task of these columns; ``None`` where text stands in several that do not all say yes or no.

    One two-valued column is a binary task, several are multi-label; one column of classes is multi-class; other
    columns of numbers are a regression.
    """
    if all(column.two_valued for column in columns):
        return "binary" if len(columns) == 1 else "multi-label"
    if len(columns) == 1 and columns[0].classes:
        return "multi-class"
    return "regression" if all(column.numeric for column in columns) else None


def label_array(values: npt.NDArray[np.float64], kind: Kind) -> Tensor:
    """Numbers [items, columns], NaN where missing, as :class:`deepergcn.data.Dataset` holds labels of this kind."""
    if kind == "multi-class":
        return torch.from_numpy(np.where(np.isnan(values), -1, values)[:, 0].astype(np.int64))
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
