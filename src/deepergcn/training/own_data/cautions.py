"""Cautions about possible mistakes in a user's file, printed before training, one line each."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.features import FeatureColumn
from deepergcn.data.tables.kinds import number_name
from deepergcn.data.tables.labels import LabelSchema
from deepergcn.errors import quote

Values = npt.NDArray[np.float64]

_RELATIONS = frozenset(["=", "<", ">", "<=", ">=", "==", "<<", ">>", "~", "≤", "≥", "≈"])
_EQUAL = frozenset(("=", "=="))
_UNITS = re.compile(r".*\bunits?\b.*|.*_units?", re.IGNORECASE)
_UNUSUAL = r"^(?:0[0-9]{1,29}(?:\.0*)?|[0-9]{1,30}\.0*)$"  # numbers as no computer writes them
_NUMBER = r"[-+]?[0-9]*[.,]?[0-9]+"
_RANGE = re.compile(rf"\s*{_NUMBER}\s*(?:[-\u2013\u2014]|\.\.\.?|\bto\b)\s*{_NUMBER}\s*")
_ORDERS = 4  # of magnitude, from which on a logarithm is learned better
_PARTED, _WHOLE = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}"), re.compile(r"[+-]?[0-9]{1,3}")
_FEW = 5  # cells, or rows to a cell, below which agreement may be chance
_STRAIGHT = 0.99999  # the correlation from which on two columns of numbers are one


def cautions(
    table: Columns,
    schema: LabelSchema,
    values: Values,
    missing: Sequence[str] = (),
    features: Sequence[FeatureColumn] = (),
) -> tuple[str, ...]:
    """The cautions about this table.

    Args:
        table: The table with the labels.
        schema: How the labels were read.
        values: The labels [items, columns], NaN where missing.
        missing: The values that the user says mark a missing label.
        features: How its columns become features; none for molecules.
    """
    found = [_unused_missing(table, schema, value) for value in missing if value]
    if schema.kind == "regression":
        rows = np.flatnonzero(np.any([table.labels(name).is_valid() for name in schema.columns], axis=0))
        others = [name for name in table.names if name not in schema.columns and not features]
        found += [_limits(table, name, rows) or _units(table, name, rows) for name in others]
        found += [_orders(name, values[:, number]) for number, name in enumerate(schema.columns)]
        found += [_thousands(table, name) for name in schema.columns]
    found += [_thousands(table, column.name) for column in features if column.categories is None]
    found += [_minus_one(schema, number, values) for number in range(len(schema.classes))]
    found += [_ranges(schema.columns[number], names) for number, names in enumerate(schema.classes)]
    if schema.kind != "multi-label" and len(schema.columns) == 1 and len(values) == len(table):
        found += [_same_as_label(table, schema, column, values[:, 0]) for column in features]
    return tuple(line for line in found if line is not None)


def alike_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """The caution about ids of nodes that are the same number, written in different ways."""
    written = pa.array(ids, pa.string())
    unusual = written.filter(pc.match_substring_regex(written, _UNUSUAL)).to_pylist()
    usual = [number_name(name) for name in unusual]
    there = pc.is_in(pa.array(usual, pa.string()), written).to_pylist()
    first = {name: name for name, known in zip(usual, there, strict=True) if known}
    pairs = [(first.setdefault(number, name), name) for name, number in zip(unusual, usual, strict=True)]
    found = [pair for pair in pairs if pair[0] != pair[1]]
    if not found:
        return ()
    one, other = found[0]
    more = f" (and {len(found) - 1:,} more such pairs)" if len(found) > 1 else ""
    return (
        f"ids {quote(one)} and {quote(other)} are different nodes{more}, since ids are compared as text; write them "
        "the same way if they are one node",
    )


def _unused_missing(table: Columns, schema: LabelSchema, value: str) -> str | None:
    plain = LabelSchema(schema.columns, schema.kind, schema.classes)
    before = sum(table.labels(name).null_count for name in plain.columns)
    after = sum(table.without(plain.columns, [value]).labels(name).null_count for name in plain.columns)
    return f"--missing {value}: no label is {value}" if before == after else None


def _cells(table: Columns, name: str, rows: npt.NDArray[np.int64]) -> "Counter[str]":
    return Counter(table.text(name).take(pa.array(rows)).drop_null().to_pylist())


def _limits(table: Columns, name: str, rows: npt.NDArray[np.int64]) -> str | None:
    """Censored values whose sign is in a separate column, as in exports of ChEMBL."""
    if not table.is_text_type(name):
        return None
    cells = _cells(table, name, rows)
    signs = {cell.strip("'\" ") for cell in cells}
    if not signs or not signs <= _RELATIONS or signs <= _EQUAL:
        return None
    count = sum(times for cell, times in cells.items() if cell.strip("'\" ") not in _EQUAL)
    return (
        f"column {name!r} is not = in {count:,} rows: their values are limits, but are trained on as exact values; "
        "remove these rows if that is not intended"
    )


def _units(table: Columns, name: str, rows: npt.NDArray[np.int64]) -> str | None:
    if not _UNITS.fullmatch(name) or not table.is_text_type(name):
        return None
    cells = _cells(table, name, rows).most_common(4)
    if len(cells) < 2:
        return None
    shown = ", ".join(f"{cell} {count:,}" for cell, count in cells)
    return f"column {name!r} has several units ({shown}): values are used as they are, without conversion"


def _orders(name: str, values: Values) -> str | None:
    known = values[~np.isnan(values)]
    if not len(known) or known.min() <= 0 or known.max() < known.min() * 10**_ORDERS:
        return None
    orders = int(np.log10(known.max() / known.min()))
    return f"{name} spans {orders} orders of magnitude: its logarithm, such as a pIC50, is usually easier to predict"


def _minus_one(schema: LabelSchema, number: int, values: Values) -> str | None:
    names = schema.classes[number]
    if "-1" not in names or "0" not in names:
        return None
    rows = int((values[:, number] == names.index("-1")).sum())
    return f"{schema.columns[number]}: -1 is a class of {rows:,} rows; use --missing -1 if it marks a missing label"


def _ranges(column: str, names: Sequence[str]) -> str | None:
    """Classes some of which are ranges, such as 1-3, possibly next to classes such as 0 or >10."""
    ranges = [name for name in names if _RANGE.fullmatch(name)]
    if len(ranges) < 2:
        return None
    return f"{column}: classes such as {quote(ranges[0])} are ranges, whose order is not used; numbers keep the order"


def _thousands(table: Columns, name: str) -> str | None:
    """Numbers such as 850 and 1.200, whose point may separate thousands, as in German."""
    if table.is_number_type(name):
        return None
    cells = table.labels(name).drop_null().unique().to_pylist()
    parted = [cell for cell in cells if _PARTED.fullmatch(cell)]
    whole = [cell for cell in cells if _WHOLE.fullmatch(cell)]
    if not whole or len(parted) < _FEW or len(parted) + len(whole) < len(cells):
        return None
    return f"column {name!r} has {whole[0]} and {parted[0]}: a point is read as a decimal point, not thousands"


def _same_as_label(table: Columns, schema: LabelSchema, column: FeatureColumn, labels: Values) -> str | None:
    """A feature that determines the label, and may not be known at prediction time."""
    known = np.flatnonzero(~np.isnan(labels))
    cells: npt.NDArray[Any]
    if column.categories is not None:
        cells = np.array(table.text(column.name).fill_null("").to_pylist(), dtype=np.str_)[known]
    else:
        cells = table.numbers(column.name)[known]
        known, cells = known[~np.isnan(cells)], cells[~np.isnan(cells)]
    if len(known) < _FEW * 2 or not _tells(cells, labels[known], column.categories is None, bool(schema.classes)):
        return None
    what = "the class of " if schema.classes else ""
    return (
        f"feature {column.name!r} determines {what}{schema.columns[0]} in every row; --drop it if it is unknown at "
        "prediction time"
    )


def _tells(cells: npt.NDArray[Any], labels: Values, are_numbers: bool, are_classes: bool) -> bool:
    """Whether cells determine labels: each cell or range of numbers has one class, or both lie on a line."""
    if not are_classes:
        if not are_numbers:
            return False
        with np.errstate(all="ignore"):  # NaN for a constant
            return abs(float(np.corrcoef(cells, labels)[0, 1])) > _STRAIGHT
    different, codes = np.unique(cells, return_inverse=True)
    classes = len(np.unique(labels))
    if classes < 2 or len(np.unique(np.stack((codes, labels)), axis=1).T) > len(different):
        return False
    if len(different) <= len(cells) / _FEW:
        return True
    ordered = labels[np.argsort(codes, kind="stable")]
    return are_numbers and int((np.diff(ordered) != 0).sum()) == classes - 1
