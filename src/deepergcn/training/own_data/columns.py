"""Which columns of a user's table are labels, which give the split, and which are features."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepergcn.data.split import mask_part
from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.features import MOST_CATEGORIES
from deepergcn.data.tables.kinds import are_dates, stands_apart
from deepergcn.data.tables.parts import named_parts
from deepergcn.data.tables.written import numbers_written_otherwise
from deepergcn.data.task import Kind
from deepergcn.errors import InputError
from deepergcn.runs.data_report import Column
from deepergcn.training.own_data.choices import Choices

_SPLIT_COLUMN = "split"  # in any capitals
_FEW = 10  # different texts that are a category even where every row has another
_STRAY = 0.5  # the share of a column's cells that may be no numbers before the column is one of text

_ID_NAME = re.compile(r"(?:.*(?:id|index|idx|key)|unnamed: \d+|#|nr\.?|no\.?|number|)")
_SENTINEL = -99  # a feature such as a count may well have one large number
_IDS = "numbers that are all different, by its name ids"
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)


@dataclass(frozen=True)
class SplitChoice:
    """A split: the options of the reader that make it, and where it comes from."""

    options: dict[str, Any]
    source: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that give the split; empty if none does."""
        named = self.options.get("split_column", ())
        return (named,) if isinstance(named, str) else tuple(named)


def named_columns(table: Columns, names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """The columns with these names, one by one or separated by commas; ``all`` is all but those taken and ids."""
    found: list[str] = []
    for name in names:
        if name.strip() in table.names or "," not in name:
            found.append(name.strip())
        else:
            found += [part.strip() for part in name.split(",") if part.strip()]
    if found == ["all"] and "all" not in table.names:
        other = {*taken, *split_columns(table)}
        return [name for name in table.names if name not in other and not is_id(table, name)]
    return found


def left_ids(table: Columns, taken: Sequence[str]) -> list[Column]:
    """The columns that ``all`` leaves out as ids, with the reason."""
    return [Column(name=name, text=_IDS) for name in table.names if name not in taken and is_id(table, name)]


def choose_split(
    table: Columns, labels: Sequence[str], choices: Choices, kind: Kind, known: Sequence[str]
) -> SplitChoice:
    """The split that was chosen, else that of the table's columns, else a random one, stratified for classes.

    Args:
        table: The table.
        labels: Its label columns.
        choices: What the user has chosen.
        kind: The kind of the task.
        known: The splits that need no column.
    """
    said = choices.split
    if choices.folds is not None:
        return _folds(table, said, choices, kind, known)
    if said is not None and said not in known:
        columns = named_columns(table, [said])
        return _by_columns(table, columns, "as given")
    if said is None:
        columns = own_split(table, labels)
        if columns:
            return _by_columns(table, columns, "--split chooses another")
    split = said or ("stratified" if kind in ("binary", "multi-class") else "random")
    seed = "" if split == "scaffold" else f" with seed {choices.seed or 0}"
    return SplitChoice({"split": split}, f"{split}{seed} ({'as given' if said else 'there is no split column'})")


def _folds(table: Columns, said: str | None, choices: Choices, kind: Kind, known: Sequence[str]) -> SplitChoice:
    """The first fold of a cross-validation."""
    if said is not None and said not in known:
        raise InputError(f"--split is {said!r}; with --folds expected {' or '.join(known)}")
    split = said or ("stratified" if kind in ("binary", "multi-class") else "random")
    seed = "" if split == "scaffold" else f" with seed {choices.seed or 0}"
    unused = [name for name in own_split(table) if said is None]
    why = f"the column {unused[0]!r} is not used" if unused else "as given" if said else "--split chooses another"
    source = f"{choices.folds} folds, {split}{seed} ({why}), each the test part once; in the first"
    return SplitChoice({"split": split, "fold": [0, choices.folds]}, source)


def split_columns(table: Columns) -> list[str]:
    """The columns that give the split: they are not features, even if another split is chosen."""
    return [name for name in table.names if name.lower() == _SPLIT_COLUMN or _is_mask(name)]


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


def own_split(table: Columns, labels: Sequence[str] = ()) -> list[str]:
    """The column with the split, or the columns with its masks; empty if there are none."""
    found = [name for name in table.names if name.lower() == _SPLIT_COLUMN and name not in labels]
    masks = [name for name in table.names if _is_mask(name) and name not in labels]
    if len(found) > 1 or (found and masks):
        names = ", ".join(map(repr, found + masks))
        raise InputError(f"{table.path}: has the columns {names}; expected one split column, or --split")
    _check_parts(table, found or masks)
    return found or masks


def _by_columns(table: Columns, columns: Sequence[str], why: str) -> SplitChoice:
    _check_parts(table, columns)
    name = columns[0] if len(columns) == 1 else list(columns)
    shown = f"column {name!r}" if len(columns) == 1 else f"masks {', '.join(columns)}"
    return SplitChoice({"split_column": name}, f"{shown} ({why})")


def _check_parts(table: Columns, columns: Sequence[str]) -> None:
    try:
        if columns:
            named_parts(table, columns)
    except InputError as error:
        raise InputError(f"{error}; --split random splits at random instead") from error


def _is_mask(name: str) -> bool:
    return "mask" in name.lower() and mask_part(name) is not None


def _no_feature(table: Columns, name: str) -> str | None:
    """Why a column is not a feature, or None if it is one; a column that may be a mistake is an error."""
    if table.is_numeric(name):
        if is_id(table, name):
            return _IDS
        values = table.numbers(name)
        apart = stands_apart(np.unique(values[~np.isnan(values)]))
        if apart is not None and apart <= _SENTINEL:
            raise InputError(
                f"{table.path}: column {name!r} holds {apart:g}, which lies apart from its other numbers; empty these "
                "cells if they are gaps; --numeric takes the column as it is, --drop leaves it out"
            )
        return None
    cells = table.text(name).drop_null()
    known = table.labels(name).drop_null()
    if not len(known):
        return "empty"
    stray = table.not_numbers(name)
    infinite = [row for row in stray.tolist() if _INFINITE.fullmatch(table.text(name)[row].as_py() or "")]
    if infinite or len(stray) < _STRAY * len(known):
        row = infinite[0] if infinite else int(stray[0])
        raise InputError(
            f"{table.path}: {table.not_a_number(name, row)}, as most cells of the column are; "
            "--drop leaves the column out, --categorical takes it for a category"
        )
    different = cells.unique().to_pylist()
    if are_dates(different):
        return "dates"
    if numbers_written_otherwise(different):
        raise InputError(
            f"{table.path}: {table.not_a_number(name, int(stray[0]))}; --drop leaves the column out, --categorical "
            "takes it for a category"
        )
    if len(different) > MOST_CATEGORIES or (len(different) > _FEW and len(different) > len(cells) / 2):
        return f"{len(different)} different texts"
    return None


def is_id(table: Columns, name: str) -> bool:
    """Whether a column is one of whole numbers that are all different, and has the name of ids."""
    if not _ID_NAME.fullmatch(name.lower()) or not table.is_numeric(name):
        return False
    values = table.numbers(name)
    known = values[~np.isnan(values)]
    return bool((known == np.floor(known)).all()) and len(np.unique(known)) == len(known)
