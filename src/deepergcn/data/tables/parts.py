"""The split of the rows of a user's table: by its columns, at random, or at random within each class."""

from collections.abc import Sequence
from typing import Literal, get_args

from torch import Tensor

from deepergcn.data.folds import check_fold, random_fold
from deepergcn.data.split import column_split, mask_names, mask_part, part_names, random_split, stratified_split
from deepergcn.data.tables.columns import Columns, as_names, errors_in
from deepergcn.data.tables.labels import labelled, strata
from deepergcn.errors import InputError

Split = Literal["random", "stratified"]


def check_choice(split: str, choices: object = Split) -> None:
    """Check the name of a split."""
    if split not in get_args(choices):
        raise InputError(f"split is {split!r}; expected {' or '.join(get_args(choices))}")


def valid_share(fractions: Sequence[float]) -> float:
    """The share of valid in train and valid together."""
    return fractions[1] / (fractions[0] + fractions[1])


def named_parts(table: Columns, columns: str | Sequence[str]) -> list[str | None]:
    """The part of every row: by one column of train, valid or test, or by several that are masks."""
    names = as_names(columns)
    if not names:
        raise InputError(
            f"{table.path}: the split names no column; expected the name of a split column, or of several masks"
        )
    table.require(names, "split")
    cells = {name: table.text(name).to_pylist() for name in names}
    if len(names) == 1 and (part := mask_part(names[0])) is not None:
        raise InputError(
            f"{table.path}: the column {names[0]!r} is the mask of {part} alone; expected masks of train and test, "
            "such as train_mask and test_mask"
        )
    with errors_in(table.path):
        return part_names(cells[names[0]], names[0]) if len(names) == 1 else mask_names(cells)


def split_rows(
    table: Columns,
    y: Tensor,
    split: str,
    split_column: str | Sequence[str] | None,
    fractions: Sequence[float],
    seed: int,
    fold: Sequence[int] | None = None,
) -> dict[str, Tensor]:
    """The split of rows with these labels: by the columns that give it, else as :func:`split_labelled`."""
    if split_column is None:
        return split_labelled(table, y, split, fractions, seed, fold)
    return split_by_names(table, named_parts(table, split_column), y, fractions, seed)


def split_by_names(
    table: Columns, names: Sequence[str | None], y: Tensor, fractions: Sequence[float], seed: int
) -> dict[str, Tensor]:
    """The split by the part of every item; if valid is empty, a fraction of train, of each class, becomes valid."""
    with errors_in(table.path):
        return column_split(names, classes=strata(y), fraction=fractions[1], seed=seed)


def split_labelled(
    table: Columns,
    y: Tensor,
    split: str,
    fractions: Sequence[float],
    seed: int,
    fold: Sequence[int] | None = None,
) -> dict[str, Tensor]:
    """The split of the items with a label, at random or within each class; or that of a fold."""
    items = labelled(y)
    if fold is not None:
        classes = None if split == "random" else strata(y)
        if split != "random" and classes is None:
            raise InputError(
                f"{table.path}: stratified folds need one label column of classes; use random for other labels"
            )
        with errors_in(table.path):
            return random_fold(
                items,
                check_fold(fold),
                share=valid_share(fractions),
                seed=seed,
                classes=None if classes is None else classes[items],
            )
    if split == "random":
        return random_split(items, fractions=fractions, seed=seed)
    classes = strata(y)
    if classes is None:
        raise InputError(
            f"{table.path}: a stratified split needs one label column of classes; use random for other labels"
        )
    return stratified_split(items, classes[items], fractions=fractions, seed=seed)
