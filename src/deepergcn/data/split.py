"""Split items into train, valid and test."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.dataset import PARTS
from deepergcn.errors import InputError, quote

FRACTIONS = (0.8, 0.1, 0.1)
"""The default fractions of train, valid and test."""

_PART_OF = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "val", "validation", "dev"), "valid"),
    **dict.fromkeys(("test", "testing"), "test"),
}


def random_split(
    items: npt.NDArray[np.int64], *, fractions: Sequence[float] = FRACTIONS, seed: int = 0
) -> dict[str, Tensor]:
    """A random split by fractions, which depends only on the seed."""
    check_split(fractions, seed)
    shuffled = np.random.default_rng(seed).permutation(items)
    first = round(fractions[0] * len(items))
    second = first + round(fractions[1] * len(items))
    return _parts(shuffled[:first], shuffled[first:second], shuffled[second:])


def scaffold_split(scaffolds: Sequence[str | None], *, fractions: Sequence[float] = FRACTIONS) -> dict[str, Tensor]:
    """OGB's split: molecules with the same scaffold stay together, and rare scaffolds come last.

    Groups of equal scaffolds are sorted by size, then by their first molecule, both descending. Each goes to train if
    it fits there as a whole, else to valid if it fits into train and valid together, else to test. A molecule whose
    scaffold is ``None`` is in no part.
    """
    _check_fractions(fractions)
    groups: dict[str, list[int]] = {}
    for item, scaffold in enumerate(scaffolds):
        if scaffold is not None:
            groups.setdefault(scaffold, []).append(item)
    total = sum(map(len, groups.values()))
    train_room, valid_room = fractions[0] * total, (fractions[0] + fractions[1]) * total
    train: list[int] = []
    valid: list[int] = []
    test: list[int] = []
    for group in sorted(groups.values(), key=lambda group: (len(group), group[0]), reverse=True):
        if len(train) + len(group) <= train_room:
            train += group
        elif len(train) + len(valid) + len(group) <= valid_room:
            valid += group
        else:
            test += group
    return _parts(*(np.array(part, dtype=np.int64) for part in (train, valid, test)))


def part_names(cells: Sequence[str | None], column: str = "split") -> list[str | None]:
    """The part named by each cell of a split column: train, valid or test; ``None`` for an empty cell.

    Case is ignored; training, val, validation, dev and testing are synonyms. Any other value, or a column without
    train, is an error that names the column and the row.
    """
    names = [None if cell is None else _PART_OF.get(cell.strip().lower(), "") for cell in cells]
    if "" in names:
        row = names.index("")
        raise InputError(
            f"row {row + 1}: the split column {column!r} is {quote(cells[row])}; expected train, valid or test"
        )
    if "train" not in names:
        raise InputError(f"no row of the split column {column!r} is train; expected train, valid or test in each")
    return names


def column_split(
    names: Sequence[str | None],
    *,
    classes: npt.NDArray[np.int64] | None = None,
    fraction: float = FRACTIONS[1],
    seed: int = 0,
) -> dict[str, Tensor]:
    """The split given by the part of every item, ``None`` for an item in no part.

    If no item is in valid, a random ``fraction`` of train becomes valid, stratified by ``classes`` (one class index
    per item) if given.
    """
    train, valid, test = (
        np.array([item for item, name in enumerate(names) if name == part], dtype=np.int64) for part in PARTS
    )
    if not len(train):
        raise InputError("no item of the split is in train")
    if not len(valid):
        train, valid = _take_out(train, classes, fraction, seed)
    return _parts(train, valid, test)


def _take_out(
    train: npt.NDArray[np.int64], classes: npt.NDArray[np.int64] | None, fraction: float, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    shuffled = np.random.default_rng(seed).permutation(train)
    labels = np.zeros(len(train), dtype=np.int64) if classes is None else classes[shuffled]
    taken = np.zeros(len(train), dtype=bool)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        taken[members[: round(fraction * len(members))]] = True
    return shuffled[~taken], shuffled[taken]


def _parts(*items: npt.NDArray[np.int64]) -> dict[str, Tensor]:
    return {part: torch.from_numpy(np.sort(index)) for part, index in zip(PARTS, items, strict=True)}


def check_split(fractions: Sequence[float], seed: int) -> None:
    """Check the fractions and the seed of a random split."""
    _check_fractions(fractions)
    if type(seed) is not int or seed < 0:
        raise InputError(f"seed is {seed!r}; expected an integer of at least 0")


def _check_fractions(fractions: Sequence[float]) -> None:
    numbers = len(fractions) == 3 and all(isinstance(part, int | float) for part in fractions)
    # Written so that NaN fails too.
    if not (numbers and min(fractions) >= 0 and fractions[0] > 0 and abs(sum(fractions) - 1) <= 1e-9):
        raise InputError(f"fractions are {tuple(fractions)}; expected three that sum to 1, the first above 0")
