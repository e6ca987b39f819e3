"""The rule that infers the kind of a task from labels, and the array of labels in a dataset.

A reader infers the kind of each column; the rule that joins them is the same for all readers. They differ only in what
a class is: OGB numbers its classes from 0 (:func:`numbered_kind`), a user's table names them
(:func:`deepergcn.data.tables.kinds.column_kind`).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.task import Kind

MOST_OUTPUTS = 1 << 24
"""The largest number of classes in OGB's numbering: a larger number is not a class."""


def numbered_kind(known: npt.NDArray[np.float64]) -> Kind:
    """Infer the kind of a column of OGB with these numbers: 0 and 1 are no and yes, other integers from 0 classes."""
    if bool(np.isin(known, (0, 1)).all()):
        return "binary"
    whole = bool(((known >= 0) & (known == np.floor(known)) & np.isfinite(known)).all())
    return "multi-class" if whole else "regression"


def joint_kind(kinds: Sequence[Kind]) -> Kind | None:
    """Infer the kind of the task from those of its columns; ``None`` if they do not go together.

    Several binary columns are a multi-label task, several of numbers one regression; classes stand alone.
    """
    if len(kinds) == 1:
        return kinds[0]
    if all(kind == "binary" for kind in kinds):
        return "multi-label"
    return "regression" if all(kind == "regression" for kind in kinds) else None


def label_array(values: npt.NDArray[np.float64], kind: Kind) -> Tensor:
    """Numbers [items, columns], NaN if missing, in the form of :class:`deepergcn.data.Dataset` for this kind."""
    if kind == "multi-class":
        return torch.from_numpy(np.where(np.isnan(values), -1, values)[:, 0].astype(np.int64))
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
