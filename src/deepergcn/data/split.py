"""Split items into train, valid and test."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.dataset import PARTS
from deepergcn.errors import InputError, quote

FRACTIONS = (0.8, 0.1, 0.1)
"""The default fractions of train, valid and test."""

_REPRESENTED = 5  # items of a class, from which on each part has one of them

_TRUTH = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "t"), True),
    **dict.fromkeys(("false", "0", "0.0", "no", "f", ""), False),
}

_PART_OF = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "val", "validation", "dev"), "valid"),
    **dict.fromkeys(("test", "testing"), "test"),
}


def all_test(count: int) -> dict[str, Tensor]:
    """The split of items that are to be predicted: all of them are in the part ``test``."""
    none = torch.empty(0, dtype=torch.int64)
    return {"train": none, "valid": none, "test": torch.arange(count)}


def random_split(
    items: npt.NDArray[np.int64], *, fractions: Sequence[float] = FRACTIONS, seed: int = 0
) -> dict[str, Tensor]:
    """A random split by fractions, which depends only on the seed."""
    check_split(fractions, seed)
    shuffled = np.random.default_rng(seed).permutation(items)
    first = round(fractions[0] * len(items))
    second = first + round(fractions[1] * len(items))
    return _parts(shuffled[:first], shuffled[first:second], shuffled[second:])


def stratified_split(
    items: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
    *,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
) -> dict[str, Tensor]:
    """A random split in which every part has each class in its proportion.

    Args:
        items: The items to split.
        classes: The class of each of these items.
        fractions: The sizes of the parts. A class of five items or more has at least one in every part that has a size.
        seed: The order depends on it alone.
    """
    check_split(fractions, seed)
    order = np.random.default_rng(seed).permutation(len(items))
    shuffled, labels = items[order], classes[order]
    names, counts = np.unique(labels, return_counts=True)
    valid = _shares(counts, fractions[1], counts)
    test = _shares(counts, fractions[2], counts - valid)
    parts: list[list[npt.NDArray[np.int64]]] = [[], [], []]
    for name, first, second in zip(names, valid, test, strict=True):
        members = shuffled[labels == name]
        for part, some in zip(
            parts, np.split(members, (len(members) - first - second, len(members) - second)), strict=True
        ):
            part.append(some)
    return _parts(*(np.concatenate(part) for part in parts))


def _shares(counts: npt.NDArray[np.int64], fraction: float, room: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many of each class are in a part: rounded so that the part has its size, and 1 at least of a class of 5."""
    exact = fraction * counts
    shares = np.floor(exact).astype(np.int64)
    missing = round(fraction * int(counts.sum())) - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[: max(missing, 0)]] += 1
    if fraction > 0:
        shares = np.where((shares == 0) & (counts >= _REPRESENTED), 1, shares)
    within_room: npt.NDArray[np.int64] = np.minimum(shares, room)
    return within_room


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


def mask_names(masks: Mapping[str, Sequence[str | None]]) -> list[str | None]:
    """The part of every row by columns such as ``train_mask``, which say true or false; a row in two is an error."""
    names: list[str | None] = [None] * len(next(iter(masks.values())))
    for column, cells in masks.items():
        part = mask_part(column)
        for row, cell in enumerate(cells):
            said = _TRUTH.get("" if cell is None else cell.lower())
            if part is None or said is None:
                raise InputError(f"row {row + 1}: the mask {column!r} is {quote(cell)}; expected true or false")
            if said and names[row] is not None:
                raise InputError(
                    f"row {row + 1}: is in {names[row]} and in {part}, according to its masks; expected one part"
                )
            if said:
                names[row] = part
    if "train" not in names:
        raise InputError(f"no row is in train, according to the masks {', '.join(masks)}; expected at least one")
    return names


def part_of(cell: str) -> str | None:
    """The part that a cell of a split column names, if it names one."""
    return _PART_OF.get(cell.strip().lower())


def is_truth(cell: str | None) -> bool:
    """Whether a cell of a mask says true or false."""
    return ("" if cell is None else cell.lower()) in _TRUTH


def mask_part(column: str) -> str | None:
    """The part that a column called such as ``train_mask`` or ``is_test`` is the mask of."""
    words = column.strip().lower().replace("-", "_").replace(" ", "_").split("_")
    rest = [word for word in words if word not in ("mask", "is", "in")]
    return _PART_OF.get(rest[0]) if len(rest) == 1 and len(words) > 1 else None


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
        raise InputError("the split has no items in train; expected at least one")
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
        raise InputError(f"fractions are {tuple(fractions)}; expected three numbers that sum to 1, the first above 0")
