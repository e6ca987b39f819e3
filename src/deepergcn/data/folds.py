"""The folds of a cross-validation: every item is in the test part of one of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.errors import InputError

Items = npt.NDArray[np.int64]

MOST_FOLDS = 1000


class Fold(NamedTuple):
    """One of several folds, counted from 0."""

    number: int
    folds: int


def check_folds(count: int | None) -> int:
    """The number of folds."""
    if type(count) is not int or not 2 <= count <= MOST_FOLDS:
        raise InputError(f"--folds is {count}; expected from 2 to {MOST_FOLDS}")
    return count


def check_fold(fold: Sequence[int]) -> Fold:
    """The fold of two numbers: which one, and of how many."""
    numbers = len(fold) == 2 and all(type(part) is int for part in fold)
    if not numbers or not 2 <= fold[1] <= MOST_FOLDS or not 0 <= fold[0] < fold[1]:
        raise InputError(
            f"fold is {list(fold)}; expected its number, from 0, and the number of folds, from 2 to {MOST_FOLDS}"
        )
    return Fold(*fold)


def random_fold(
    items: Items, fold: Fold, *, share: float, seed: int = 0, classes: Items | None = None
) -> dict[str, Tensor]:
    """The split of a fold: these items dealt out at random to all folds, and of the others a share to valid.

    Args:
        items: the items to split.
        fold: the fold, which is the test part.
        share: the share of the other items that is the valid part.
        seed: the order depends on it alone.
        classes: the class of each item, in whose proportions every part has them.
    """
    owner = _dealt(len(items), fold.folds, np.random.default_rng(seed), classes)
    _check_filled(owner, fold.folds, len(items))
    rest = np.flatnonzero(owner != fold.number)
    inner = np.random.default_rng([seed, fold.number])
    parts = _dealt(len(rest), _inner_count(share), inner, None if classes is None else classes[rest])
    valid = (parts == 0) & (share > 0)
    return _parts(items[rest[~valid]], items[rest[valid]], items[owner == fold.number])


def scaffold_fold(scaffolds: Sequence[str | None], fold: Fold, *, share: float) -> dict[str, Tensor]:
    """The split of a fold in which molecules with the same scaffold stay together.

    Groups of equal scaffolds, the largest first, each go to the fold with the fewest molecules; the share of the others
    that is the valid part is made in the same way. A molecule whose scaffold is ``None`` is in no part.
    """
    known = np.array([item for item, scaffold in enumerate(scaffolds) if scaffold is not None], dtype=np.int64)
    owner = _grouped([scaffolds[item] for item in known.tolist()], fold.folds)
    _check_filled(owner, fold.folds, len(known))
    rest = known[owner != fold.number]
    parts = _grouped([scaffolds[item] for item in rest.tolist()], _inner_count(share))
    nearest = np.abs(
        np.bincount(parts) - share * len(rest)
    ).argmin()  # a large scaffold may fill a part beyond its size
    valid = (parts == nearest) & (share > 0)
    return _parts(rest[~valid], rest[valid], known[owner == fold.number])


def _dealt(count: int, folds: int, random: np.random.Generator, classes: Items | None) -> Items:
    """The fold of every item: dealt out in a random order, class by class."""
    order = random.permutation(count)
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    owner = np.empty(count, dtype=np.int64)
    owner[order] = np.arange(count) % folds
    return owner


def _grouped(scaffolds: Sequence[str | None], folds: int) -> Items:
    groups: dict[str | None, list[int]] = {}
    for item, scaffold in enumerate(scaffolds):
        groups.setdefault(scaffold, []).append(item)
    sizes = np.zeros(folds, dtype=np.int64)
    owner = np.empty(len(scaffolds), dtype=np.int64)
    for group in sorted(groups.values(), key=lambda group: (-len(group), group[0])):
        smallest = int(sizes.argmin())
        owner[group] = smallest
        sizes[smallest] += len(group)
    return owner


def _inner_count(share: float) -> int:
    """The number of parts, one of which is the valid part."""
    return 2 if share <= 0 else min(max(2, round(1 / share)), MOST_FOLDS)


def _check_filled(owner: Items, folds: int, items: int) -> None:
    if len(np.unique(owner)) < folds:
        raise InputError(f"folds is {folds}; expected fewer, since some would be empty with {items} items")


def _parts(train: Items, valid: Items, test: Items) -> dict[str, Tensor]:
    named = {"train": train, "valid": valid, "test": test}
    return {part: torch.from_numpy(np.sort(items)) for part, items in named.items()}
