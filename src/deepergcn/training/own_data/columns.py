"""Which columns of a user's table are labels, and which are features."""

import re
from collections.abc import Sequence

import numpy as np

from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.features import MOST_CATEGORIES
from deepergcn.data.tables.kinds import MOST_CLASSES, are_dates, stands_apart
from deepergcn.data.tables.written import alike, numbers_written_otherwise
from deepergcn.errors import InputError
from deepergcn.runs.data_report import Column
from deepergcn.training.own_data.split_choice import split_columns

_FEW = 10  # different texts that are a category even where every row has another
_STRAY = 0.5  # the share of a column's cells that may be no numbers before the column is one of text

_ID_NAME = re.compile(r"(?:.*(?:id|index|idx|key)|unnamed: \d+|#|nr\.?|no\.?|number|)")
_SENTINEL = -99  # a feature such as a count may well have one large number
_IDS = "ids, by its name and different numbers"
_FOLD_NAME = re.compile(r"(?:cv[_ ]?)?folds?")
_MOST_FOLDS = 20
_CODE = re.compile(r"0[0-9]+")
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)


def named_columns(table: Columns, names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """The columns with these names, one by one or separated by commas.

    ``all`` is all that can be learned but those taken; :func:`left_out` has the others.
    """
    found: list[str] = []
    for name in names:
        if name.strip() in table.names or "," not in name:
            found.append(name.strip())
        else:
            found += [part.strip() for part in name.split(",") if part.strip()]
    if found == ["all"] and "all" not in table.names:
        other = {*taken, *split_columns(table)}
        return [name for name in table.names if name not in other and _no_target(table, name) is None]
    return found


def left_out(table: Columns, taken: Sequence[str]) -> list[Column]:
    """The columns that ``all`` leaves out, with the reason."""
    other = {*taken, *split_columns(table)}
    reasons = {name: _no_target(table, name) for name in table.names if name not in other}
    return [Column(name=name, text=reason) for name, reason in reasons.items() if reason is not None]


def default_column(table: Columns, name: str) -> str:
    """The column of this name, else the one whose name differs from it in capitals only."""
    alike = [column for column in table.names if column.lower() == name]
    return alike[0] if name not in table.names and len(alike) == 1 else name


def usable_features(
    table: Columns,
    taken: set[str],
    named: Sequence[str] | None = None,
    dropped: Sequence[str] = (),
    said: Sequence[str] = (),
) -> tuple[list[str], list[Column]]:
    """The columns that are features, and those that are not, with the reason.

    Args:
        table: The table.
        taken: The columns that have another role.
        named: The features, if the user has chosen them: these and no others.
        dropped: Columns that the user has left out.
        said: Columns that the user has declared numbers or categories.
    """
    table.require([*(named or ()), *dropped], "features")
    if stray := next((name for name in named or () if name in taken), None):
        raise InputError(f"--features: the column {stray!r} is a label, an id or the split; expected other columns")
    if named is not None:
        return [name for name in named if name not in dropped], []
    usable: list[str] = []
    left_out: list[Column] = []
    for name in table.names:
        if name in taken:
            continue
        reason = "as given" if name in dropped else None if name in said else _no_feature(table, name)
        if reason is None:
            usable.append(name)
        else:
            left_out.append(Column(name=name, text=reason))
    return usable, left_out


def _no_feature(table: Columns, name: str) -> str | None:
    """Why a column is not a feature, or None if it is one; a column that may be a mistake is an error."""
    if table.is_numeric(name):
        if is_id(table, name):
            return _IDS
        values = table.numbers(name)
        apart = stands_apart(np.unique(values[~np.isnan(values)]))
        if apart is not None and apart <= _SENTINEL:
            raise InputError(
                f"{table.path}: column {name!r} holds {apart:g}, which is far from its other numbers; empty these "
                "cells if they mark missing values, or use --numeric to keep them, or --drop to leave the column out"
            )
        _check_codes(table, name)
        different_numbers = np.unique(values[~np.isnan(values)])
        if _FOLD_NAME.fullmatch(name.lower()) and len(different_numbers) <= _MOST_FOLDS:
            return "fold numbers, by its name"
        return f"{different_numbers[0]:g} in every row" if len(different_numbers) == 1 and len(table) > 1 else None
    cells = table.text(name).drop_null()
    known = table.labels(name).drop_null()
    if not len(known):
        return "empty"
    stray = table.not_numbers(name)
    infinite = [row for row in stray.tolist() if _INFINITE.fullmatch(table.text(name)[row].as_py() or "")]
    if infinite or len(stray) < _STRAY * len(known):
        row = infinite[0] if infinite else int(stray[0])
        like = ", like most cells of the column" if len(stray) < _STRAY * len(known) else ""
        raise InputError(
            f"{table.path}: {table.not_a_number(name, row)}{like}; use --drop to leave the column out, or "
            "--categorical to treat it as a category"
        )
    different = cells.unique().to_pylist()
    if are_dates(different):
        return "dates"
    if numbers_written_otherwise(different):
        raise InputError(
            f"{table.path}: {table.not_a_number(name, int(stray[0]))}; use --drop to leave the column out, "
            "or --categorical to treat it as a category"
        )
    if len(different) == 1 and len(cells) == len(table) > 1:
        return f"{different[0]} in every row"
    if len(different) > MOST_CATEGORIES or (len(different) > _FEW and len(different) > len(cells) / 2):
        return f"{len(different)} different texts"
    if found := alike(different):
        one, two, how = found
        raise InputError(
            f"{table.path}: column {name!r} has {table.where(name, one)} and {table.where(name, two)}, which {how}; "
            "write them the same way, or use --categorical to keep both, or --drop to leave the column out"
        )
    return None


def _check_codes(table: Columns, name: str) -> None:
    """Check that no whole number begins with 0, as codes do."""
    if table.is_number_type(name):
        return
    code = next((cell for cell in table.text(name).unique().to_pylist() if cell and _CODE.fullmatch(cell)), None)
    if code is not None:
        raise InputError(
            f"{table.path}: column {name!r} has {table.where(name, code)}, which may be a code; say whether the column "
            "is a category (--categorical) or a number (--numeric); --drop leaves it out"
        )


def _no_target(table: Columns, name: str) -> str | None:
    """Why a column cannot be learned, if that is clear."""
    if is_id(table, name):
        return _IDS
    cells = table.labels(name).drop_null().unique().to_pylist()
    if len(cells) < 2:
        return f"{cells[0]} in every row" if cells else "empty"
    if table.is_numeric(name):
        return None
    if are_dates(cells):
        return "dates"
    many = len(cells) > MOST_CLASSES and len(table.not_numbers(name)) > _STRAY * len(table)
    return f"{len(cells)} different texts" if many and not numbers_written_otherwise(cells) else None


def is_id(table: Columns, name: str) -> bool:
    """Whether a column is one of whole numbers that are all different, and has the name of ids."""
    if not _ID_NAME.fullmatch(name.lower()) or not table.is_numeric(name):
        return False
    values = table.numbers(name)
    known = values[~np.isnan(values)]
    return bool((known == np.floor(known)).all()) and len(np.unique(known)) == len(known)
