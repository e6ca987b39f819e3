"""The folds of a cross-validation."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from deepergcn.data.folds import Fold, check_fold, random_fold, scaffold_fold
from deepergcn.errors import InputError

ITEMS = np.arange(100, 153)
CLASSES = (np.arange(53) % 10 == 0).astype(np.int64)  # 6 of 53
SCAFFOLDS = [None if i == 7 else "abcdefghijklmnop"[i % 16 if i < 40 else 0] for i in range(53)]

Made = Callable[[int], dict[str, Tensor]]
FOLDS: dict[str, Made] = {
    "random": lambda k: random_fold(ITEMS, Fold(k, 4), share=1 / 9, seed=3),
    "stratified": lambda k: random_fold(ITEMS, Fold(k, 4), share=1 / 9, seed=3, classes=CLASSES),
    "scaffold": lambda k: scaffold_fold(SCAFFOLDS, Fold(k, 4), share=1 / 9),
}


@pytest.mark.parametrize("kind", FOLDS)
def test_every_item_is_tested_once_and_never_seen_in_training(kind: str) -> None:
    splits = [FOLDS[kind](k) for k in range(4)]
    tested = torch.cat([split["test"] for split in splits])
    everything = sorted(ITEMS.tolist()) if kind != "scaffold" else [i for i in range(53) if i != 7]
    assert sorted(tested.tolist()) == everything
    for split in splits:
        together = torch.cat(list(split.values())).tolist()
        assert sorted(together) == everything
        assert 0 < len(split["valid"]) <= 8
    assert max(len(s["test"]) for s in splits) - min(len(s["test"]) for s in splits) <= (1 if kind != "scaffold" else 6)


def test_stratified_folds_have_the_classes_in_their_proportion() -> None:
    for split in map(FOLDS["stratified"], range(4)):
        assert int(CLASSES[split["test"].numpy() - 100].sum()) in (1, 2)
        assert int(CLASSES[split["valid"].numpy() - 100].sum()) in (0, 1)


def test_a_scaffold_is_in_one_part_only() -> None:
    for split in map(FOLDS["scaffold"], range(4)):
        groups = [{SCAFFOLDS[i] for i in split[part].tolist()} for part in ("train", "valid", "test")]
        assert not any(one & other for one, other in pairwise([*groups, groups[0]]))


def test_the_seed_draws_other_folds_and_the_same_seed_the_same() -> None:
    one, again = (random_fold(ITEMS, Fold(0, 4), share=0.1, seed=3)["test"].tolist() for _ in range(2))
    other = random_fold(ITEMS, Fold(0, 4), share=0.1, seed=4)["test"].tolist()
    assert one == again != other


def test_without_a_share_nothing_is_valid() -> None:
    assert not len(random_fold(ITEMS, Fold(0, 4), share=0.0)["valid"])


@pytest.mark.parametrize("fold", [(0, 1), (4, 4), (-1, 3), (0,), (0, 10_000), (0.0, 2)])
def test_a_fold_that_cannot_be_is_refused(fold: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="expected its number, from 0, and the number of folds"):
        check_fold(fold)


def test_more_folds_than_items_are_refused() -> None:
    with pytest.raises(InputError, match="expected fewer, since some would be empty with 3 items"):
        random_fold(np.arange(3), Fold(0, 5), share=0.1)
