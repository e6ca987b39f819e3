"""What a column of labels of a user's table is: classes or numbers, and why."""

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.written import alike, means_missing, numbers_written_otherwise
from deepergcn.data.task import Kind
from deepergcn.errors import InputError, quote

MOST_CLASSES = 50
"""Text with more different values than this is not taken for classes unless the kind says so."""

_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}(?: .*)?"
    rf"|\d{{1,2}}[-/. ]{_MONTH}(?:[-/. ]\d{{2,4}})?|{_MONTH}[-/. ]\d{{1,4}}",
    re.IGNORECASE,
)
_SENTINELS = {sign * number for sign in (-1, 1) for number in (9, 99, 999, 9999, 99999)}
_MOST_STRAY = 0.5  # a column in which a smaller share of the cells is no number is one of numbers, with mistakes


def column_kind(table: Columns, column: str) -> tuple[Kind, str]:
    """Whether a column is binary, multi-class or a regression, and the reason.

    Text is classes, and so are the numbers 0 and 1; all other numbers are a regression. Ambiguous labels are an error
    that names a cell: text among numbers, numbers in an unusual notation, one class in two spellings, a single class, a
    text or number that may mark a missing label, and dates, which are neither classes nor numbers.
    """
    names = class_names(table, column)
    if table.is_numeric(column):
        return _number_kind(table, column, names)
    stray = table.not_numbers(column)
    if len(stray) < _MOST_STRAY * (len(table) - table.labels(column).null_count):
        cell = quote(table.text(column)[int(stray[0])].as_py())
        raise InputError(
            f"{table.path}: {table.not_a_number(column, int(stray[0]))}, like most cells of the column, or --missing "
            f"{cell} if it marks a missing label"
        )
    if are_dates(names):
        raise InputError(
            f"{table.path}: label column {column!r} holds dates, such as {quote(names[0])}; expected classes or "
            "numbers, or --task multi-class if each is a class"
        )
    if numbers_written_otherwise(names):
        raise InputError(
            f"{table.path}: {table.not_a_number(column, int(stray[0]))}, or --missing with the value that marks "
            "a missing label, or --task multi-class if all values are classes"
        )
    _check_gaps(table, column, names)
    _check_spelling(table, column, names)
    if len(names) > MOST_CLASSES:
        problem = table.not_a_number(column, int(stray[0]))
        raise InputError(
            f"{table.path}: {problem}, or at most {MOST_CLASSES} classes; found {len(names)}: "
            "--task multi-class accepts any number of classes"
        )
    return _classes_of(names), f"text with {len(names)} different values"


def are_dates(texts: Sequence[str]) -> bool:
    """Whether these texts are all dates."""
    return all(_DATE.fullmatch(text) for text in texts)


def class_names(table: Columns, column: str) -> tuple[str, ...]:
    """The different values of a column: numbers in their order, however written, else text in that of the alphabet."""
    cells = pc.unique(table.labels(column).drop_null()).to_pylist()
    if not table.is_numeric(column):
        return tuple(sorted(cells))
    return tuple(sorted({number_name(cell) for cell in cells}, key=Decimal))


def number_name(cell: str) -> str:
    """The name of a number as a class: exact for an integer of any size, however it is written."""
    try:
        value = Decimal(cell)
        whole = value == value.to_integral_value()
    except InvalidOperation:  # an exponent beyond what Decimal knows, of a number that is finite: it is 0
        return "0"
    return str(int(value)) if whole else repr(float(cell))


def _number_kind(table: Columns, column: str, names: tuple[str, ...]) -> tuple[Kind, str]:
    if set(names) <= {"0", "1"}:
        return "binary", "0 and 1"
    from_zero = names[1:] == tuple(map(str, range(len(names) - 1))) and len(names) <= MOST_CLASSES
    if names[0] == "-1" and (from_zero or names == ("-1", "1")):
        held = ", ".join(names) if len(names) < 5 else f"-1 and 0 to {names[-1]}"
        raise InputError(
            f"{table.path}: label column {column!r} holds {held}; say whether -1 is a missing label "
            "(--missing -1), a class (--task binary or multi-class) or a number (--task regression)"
        )
    if len(names) == 1:
        raise InputError(f"{table.path}: label column {column!r} is {names[0]} in every row; expected different values")
    _check_sentinels(table, column, names)
    whole = not any("." in name or "e" in name for name in names)
    what = "whole numbers" if whole else "numbers"
    other = f"; --task {_classes_of(names)} treats them as classes" if whole else ""
    return "regression", f"{what} from {names[0]} to {names[-1]}{other if len(names) <= MOST_CLASSES else ''}"


def stands_apart(values: npt.NDArray[np.float64]) -> float | None:
    """A number such as -999, which often marks a gap, that is far from all others, or next to 0 and 1 only.

    Args:
        values: the different numbers of a column, in order.
    """
    for number, others in ((values[0], values[1:]), (values[-1], values[:-1])) if len(values) > 2 else ():
        spread = others[-1] - others[0]
        far = abs(number) > 9 and np.abs(number - others).min() > 2 * spread
        if number in _SENTINELS and (far or set(others.tolist()) == {0, 1}):
            return float(number)
    return None


def _check_sentinels(table: Columns, column: str, names: Sequence[str]) -> None:
    apart = stands_apart(np.array(names, dtype=np.float64))
    if apart is not None:
        raise InputError(
            f"{table.path}: label column {column!r} holds {apart:g}, which is far from its other numbers; "
            f"say whether it marks a missing label (--missing {apart:g}) or is an ordinary value (--task regression)"
        )


def _check_gaps(table: Columns, column: str, names: Sequence[str]) -> None:
    gap = next((name for name in names if means_missing(name, names)), None)
    if gap is not None:
        row = table.labels(column).to_pylist().index(gap) + 1
        raise InputError(
            f"{table.path}: row {row}: label column {column!r} is {quote(gap)}; say whether it is a missing label "
            f"(--missing {quote(gap)}) or a class like the others (--task {_classes_of(names)})"
        )


def _classes_of(names: Sequence[str]) -> Kind:
    return "binary" if len(names) == 2 else "multi-class"


def _check_spelling(table: Columns, column: str, names: Sequence[str]) -> None:
    found = alike(names)
    if found is not None:
        one, two, how = found
        raise InputError(
            f"{table.path}: label column {column!r} has {table.where(column, one)} and {table.where(column, two)}, "
            f"which {how}; write them the same way, or use --task multi-class if they are different classes"
        )
