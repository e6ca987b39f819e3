"""Features from the named columns of a user's table: numbers as they are, categories as one-hot columns."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from deepergcn.data.storage.memory import check_memory
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError, listed, quote

MOST_CATEGORIES = 100
"""A column of text with more different values than this is a category only where it is named as one."""


Unseen = Literal["error", "other"]
"""What a category is that training has not seen."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FeatureColumn:
    """How one column becomes features.

    Args:
        name: The name of the column.
        categories: The values of a category, one 0/1 feature for each; ``None`` for a column of numbers. An
            empty cell is *other*: 0 in all of them.
        mean: The mean, which is subtracted from a number.
        std: The standard deviation, which divides the difference.
        fills_gaps: Whether an empty cell of a column of numbers is the mean; otherwise it is an error.
    """

    name: str
    categories: tuple[str, ...] | None = None
    mean: float = 0.0
    std: float = 1.0
    fills_gaps: bool = False


def infer_features(
    table: Columns,
    names: Sequence[str],
    *,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    standardize: npt.NDArray[np.bool_] | None = None,
) -> tuple[FeatureColumn, ...]:
    """How the named columns become features.

    A column is numeric if all its cells are numbers, else a category, unless ``numeric`` or ``categorical`` names it.
    With ``standardize``, the mean and the standard deviation of every column of numbers are computed on the
    rows for which it holds.
    """
    table.require(names, "features")
    columns = []
    for name in names:
        if name in categorical or not (name in numeric or table.is_numeric(name)):
            columns.append(FeatureColumn(name, _categories(table, name, limited=name not in categorical)))
        else:
            columns.append(_number_column(table, name, standardize))
    return tuple(columns)


def read_features(table: Columns, columns: Sequence[FeatureColumn], unseen: Unseen = "error") -> Tensor | None:
    """The features [rows, width] of these columns as float32; None without columns.

    A value of a category that is not among its categories is an error, or ``"other"``: none of them, as an empty cell.
    """
    if not columns:
        return None
    table.require([column.name for column in columns], "features")
    width = sum(1 if column.categories is None else len(column.categories) for column in columns)
    check_memory(8 * width * len(table), f"{table.path}: {len(table)} rows of {width} features")
    blocks = [_block(table, column, unseen) for column in columns]
    return torch.from_numpy(np.concatenate(blocks, axis=1))


def warn_of_gaps(table: Columns, columns: Sequence[FeatureColumn]) -> None:
    """Log a warning for every column of numbers whose empty cells are filled with the mean of training."""
    for column in columns:
        gaps = table.labels(column.name).null_count if column.categories is None and column.name in table.names else 0
        if gaps:
            _log.warning(
                "%s: column %r is empty in %d of %d rows; the mean of the training data is used there",
                *(table.path, column.name, gaps, len(table)),
            )


def _categories(table: Columns, name: str, *, limited: bool) -> tuple[str, ...]:
    categories = tuple(sorted(pc.unique(table.text(name).drop_null()).to_pylist()))
    if not categories:
        raise InputError(f"{table.path}: column {name!r} is empty; leave it out of the features")
    if limited and len(categories) > MOST_CATEGORIES:
        problem = table.not_a_number(name, int(table.not_numbers(name)[0]))
        raise InputError(
            f"{table.path}: {problem}, or at most {MOST_CATEGORIES} categories; found {len(categories)}: leave the "
            "column out of the features, or name it as categorical"
        )
    return categories


def _number_column(table: Columns, name: str, standardize: npt.NDArray[np.bool_] | None) -> FeatureColumn:
    values = table.numbers(name)
    if standardize is None:
        return FeatureColumn(name)
    known = values[standardize & ~np.isnan(values)]
    if not len(known):
        raise InputError(
            f"{table.path}: column {name!r} has no number in the rows of train; expected one, to standardize by"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = float(known.mean()), float(known.std())
    if not np.isfinite((mean, std)).all():
        row = int(np.nanargmax(np.abs(values)))
        raise InputError(f"{table.path}: {table.not_a_number(name, row)} whose square is finite")
    return FeatureColumn(name, mean=mean, std=std if std > 0 else 1.0, fills_gaps=True)


def _block(table: Columns, column: FeatureColumn, unseen: Unseen) -> npt.NDArray[np.float32]:
    if column.categories is not None:
        text = table.text(column.name)
        codes = pc.index_in(text, pa.array(column.categories, pa.string()))
        strange = pc.and_(codes.is_null(), text.is_valid()).to_numpy(zero_copy_only=False)
        if unseen == "error" and strange.any():
            row = int(strange.argmax())
            raise InputError(
                f"{table.path}: row {row + 1}: column {column.name!r} is {quote(text[row].as_py())}, a category not "
                f"seen in training; expected one of {listed(column.categories)}, or --unseen other to treat it as none"
            )
        values: npt.NDArray[np.int32] = codes.fill_null(-1).to_numpy(zero_copy_only=False)
        one_hot = np.zeros((len(values), len(column.categories)), dtype=np.float32)
        known = np.flatnonzero(values >= 0)
        one_hot[known, values[known]] = 1.0
        return one_hot
    numbers = table.numbers(column.name)
    gaps = np.flatnonzero(np.isnan(numbers))
    if len(gaps) and not column.fills_gaps:
        raise InputError(
            f"{table.path}: row {gaps[0] + 1}: column {column.name!r} is empty; expected a number, "
            "or standardize=True, which uses the mean instead"
        )
    filled = np.where(np.isnan(numbers), column.mean, numbers)
    with np.errstate(over="ignore"):
        scaled = ((filled - column.mean) / column.std).astype(np.float32)
    if np.isinf(scaled).any():
        problem = table.not_a_number(column.name, int(np.isinf(scaled).argmax()))
        raise InputError(f"{table.path}: {problem} within float32")
    return scaled[:, None]
