"""Labels from the named columns of a user's table: their kind, their classes, and the array of a dataset."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from deepergcn.data.labels import joint_kind, label_array
from deepergcn.data.tables.columns import Columns, as_names
from deepergcn.data.tables.kinds import class_names, column_kind, number_name
from deepergcn.data.tables.positive import positive_last
from deepergcn.data.task import METRICS, Kind, Level, Metric, Task
from deepergcn.errors import InputError, listed, quote

_ROUNDING = 1e-3  # of the range of a label's numbers, that a number may be rounded by


@dataclass(frozen=True)
class LabelSchema:
    """How label columns are read.

    Args:
        columns: The names of the label columns.
        kind: The kind of the task.
        classes: For every column the names of its classes in order, the second being the positive one of
            two; nothing for a regression.
        missing: The values that mark a missing label, besides an empty cell.
    """

    columns: tuple[str, ...]
    kind: Kind
    classes: tuple[tuple[str, ...], ...]
    missing: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the outputs: the classes of a multi-class task, else the columns."""
        return self.classes[0] if self.kind == "multi-class" else self.columns

    def task(self, level: Level, metric: Metric | None = None) -> Task:
        """The task of these labels, with the default metric of their kind where none is given."""
        return Task(level, self.kind, len(self.names), metric or METRICS[self.kind][0])


def infer_labels(
    table: Columns,
    columns: Sequence[str],
    kind: Kind | None = None,
    *,
    positive: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
) -> LabelSchema:
    """The schema of label columns.

    Args:
        table: The table.
        columns: The label columns.
        kind: The kind of the task. If None, it follows from the cells, gaps left aside:
            :func:`deepergcn.data.tables.kinds.column_kind` says what each column is, and columns of several kinds are
            an error.
        positive: The positive class of two, or one for every column; otherwise the one that means yes, such as
            "active" or 1, else the last in the order of numbers or of the alphabet.
        missing: Values that mark a missing label.
    """
    if not columns:
        raise InputError(
            f"{table.path}: no label column is named; the columns are {table.quoted_names()} (name one with "
            "--target for --molecules, --label for --nodes)"
        )
    if len(set(columns)) != len(columns):
        raise InputError(f"{table.path}: a label column is named twice in {', '.join(columns)}; expected each once")
    if kind is not None and kind not in METRICS:
        raise InputError(f"kind is {kind!r}; expected one of {', '.join(METRICS)}")
    gaps = as_names(missing)
    table = table.without(columns, gaps)
    table.require(columns, "labels")
    for column in columns:
        if table.labels(column).null_count == len(table):
            raise InputError(f"{table.path}: label column {column!r} is empty")
    said, kind = kind, _infer_kind(table, columns) if kind is None else kind
    if kind in ("binary", "multi-class") and len(columns) > 1:
        raise InputError(f"{table.path}: a {kind} task has one label column; found {', '.join(columns)}")
    if kind in ("regression", "multi-class") and positive:
        raise InputError(f"{table.path}: a positive class is given; a {kind} task has none")
    if kind == "regression":
        return LabelSchema(tuple(columns), kind, (), gaps)
    classes = tuple(_classes(table, column) for column in columns)
    if said is None:
        _check_classes(table, columns)
    for column, names in zip(columns, classes, strict=True):
        if len(names) < 2 or (kind != "multi-class" and len(names) > 2):
            expected = "at least 2" if kind == "multi-class" else "2"
            raise InputError(
                f"{table.path}: label column {column!r} has {len(names)} different values; a {kind} task has {expected}"
            )
    if kind != "multi-class":
        classes = _in_order(table, columns, classes, as_names(positive))
    return LabelSchema(tuple(columns), kind, classes, gaps)


def read_labels(table: Columns, schema: LabelSchema) -> Tensor:
    """The labels as a dataset holds them, missing where there is a gap."""
    table.require(schema.columns, "labels")
    table = table.without(schema.columns, schema.missing)
    if schema.kind == "regression":
        return torch.from_numpy(np.stack([_numbers(table, column) for column in schema.columns], axis=1))
    codes = [_codes(table, c, names) for c, names in zip(schema.columns, schema.classes, strict=True)]
    return label_array(np.stack(codes, axis=1), schema.kind)


def missing_labels(task: Task, items: int) -> Tensor:
    """Labels that are all missing."""
    if task.kind == "multi-class":
        return torch.full((items,), -1)
    return torch.full((items, task.outputs), torch.nan)


def labelled(y: Tensor) -> npt.NDArray[np.int64]:
    """The numbers of the items that have at least one label."""
    present = ~y.isnan().all(1) if y.is_floating_point() else y >= 0
    return present.nonzero()[:, 0].numpy()


def strata(y: Tensor) -> npt.NDArray[np.int64] | None:
    """The class of every item, -1 where missing; nothing where there is no single class."""
    if not y.is_floating_point():
        return y.numpy()
    single = y.shape[1] == 1 and bool(((y == 0) | (y == 1) | y.isnan()).all())
    return y[:, 0].nan_to_num(-1).long().numpy() if single else None


def _check_classes(table: Columns, columns: Sequence[str]) -> None:
    """Check that every column has two classes at least, and that several are not one in the form of 0 and 1."""
    for column in columns:
        if len(present := class_names(table, column)) == 1:
            gaps = pc.filter(table.text(column), pc.is_null(table.labels(column))).drop_null().unique().to_pylist()
            more = f" ({quote(gaps[0])} is read as a missing label, unless --missing '' is said)" if gaps else ""
            raise InputError(
                f"{table.path}: label column {column!r} has one class only, {quote(present[0])}{more}; expected at "
                "least two"
            )
    if len(columns) > 1 and all(table.is_numeric(column) for column in columns):
        ones = np.stack([table.numbers(column) for column in columns])
        if len(table) > 1 and bool((ones.sum(0) == 1).all()):
            raise InputError(
                f"{table.path}: the labels {listed(columns)} are 1 in exactly one column of every row, as one class "
                "that is one-hot encoded; expected one column with the name of the class, or --task multi-label"
            )


def _infer_kind(table: Columns, columns: Sequence[str]) -> Kind:
    kinds = [column_kind(table, column)[0] for column in columns]
    kind = joint_kind(kinds)
    if kind is None:
        found = listed([f"{column!r} is {kind}" for column, kind in zip(columns, kinds, strict=True)])
        raise InputError(
            f"{table.path}: the labels are of several kinds: {found}; train a run for each kind, or choose one kind "
            "for all (--task)"
        )
    return kind


def _in_order(
    table: Columns, columns: Sequence[str], classes: tuple[tuple[str, ...], ...], positive: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    """The two classes of every column, the positive one second."""
    if len(positive) not in (0, 1, len(columns)):
        raise InputError(
            f"{table.path}: {len(positive)} positive classes are named; expected one, or one for each of the "
            f"{len(columns)} label columns"
        )
    said = positive * len(columns) if len(positive) == 1 else positive or (None,) * len(columns)
    try:
        return tuple(positive_last(names, one) for names, one in zip(classes, said, strict=True))
    except InputError as error:
        raise InputError(f"{table.path}: {error}") from error


def _classes(table: Columns, column: str) -> tuple[str, ...]:
    names = class_names(table, column)
    return ("0", "1") if names in (("0",), ("1",)) else names


def _numbers(table: Columns, column: str) -> npt.NDArray[np.float32]:
    numbers = table.numbers(column)
    with np.errstate(over="ignore"):
        values = numbers.astype(np.float32)
    if np.isinf(values).any():
        raise InputError(f"{table.path}: {table.not_a_number(column, int(np.isinf(values).argmax()))} within float32")
    known = ~np.isnan(numbers)
    spread = np.ptp(numbers[known]) if known.any() else 0.0
    if spread and np.abs(values - numbers)[known].max() > _ROUNDING * spread:
        raise InputError(
            f"{table.path}: the numbers of label column {column!r} are too close together for float32, "
            f"from {numbers[known].min():.17g} to {numbers[known].max():.17g}; subtract a constant, or use another unit"
        )
    return values


def _codes(table: Columns, column: str, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """The number of every cell's class, NaN where there is a gap."""
    text, known = table.labels(column), pa.array(names, pa.string())
    cells = pc.unique(text.drop_null())
    codes = pc.index_in(cells, known)
    if codes.null_count and table.is_numeric(column):
        codes = pc.coalesce(codes, pc.index_in(pa.array(map(number_name, cells.to_pylist()), pa.string()), known))
    places = pc.index_in(text, cells)
    found = codes.take(places)
    unknown = pc.and_(found.is_null(), text.is_valid()).to_numpy(zero_copy_only=False)
    if unknown.any():
        row = int(unknown.argmax())
        raise InputError(
            f"{table.path}: row {row + 1}: label {column!r} is {quote(text[row].as_py())}; "
            f"expected one of {listed(names)}"
        )
    values: npt.NDArray[np.float64] = found.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    return values
