"""Splits: every item once, seeded, and OGB's own scaffold split."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepergcn.data.dataset import PARTS
from deepergcn.data.molecules.parse import parse_molecule, parse_molecules
from deepergcn.data.molecules.smiles import murcko_scaffold
from deepergcn.data.ogb.numbers import read_numbers
from deepergcn.data.split import (
    column_split,
    mask_names,
    mask_part,
    part_names,
    random_split,
    scaffold_split,
    stratified_split,
)
from deepergcn.data.tables.columns import read_columns
from deepergcn.errors import InputError
from tests.data.real import real_data

ITEMS = np.arange(100) * 3
NAN = float("nan")


def test_random_split_has_every_item_once() -> None:
    split = random_split(ITEMS, seed=5)
    assert {part: len(index) for part, index in split.items()} == {"train": 80, "valid": 10, "test": 10}
    assert sorted(np.concatenate([split[part] for part in PARTS]).tolist()) == ITEMS.tolist()


def test_random_split_follows_the_seed() -> None:
    assert random_split(ITEMS, seed=1)["test"].equal(random_split(ITEMS, seed=1)["test"])
    assert not random_split(ITEMS, seed=1)["test"].equal(random_split(ITEMS, seed=2)["test"])


@pytest.mark.parametrize("fractions", [(0.8, 0.2), (0.8, 0.3, 0.1), (0, 0.5, 0.5), (1.2, -0.1, -0.1)])
def test_fractions_are_checked(fractions: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match=r"fractions are .* expected three numbers that sum to 1"):
        random_split(ITEMS, fractions=fractions)


def test_scaffold_split_by_hand() -> None:
    # Two groups of two: the later one first. 'a' (4 of 10) and 'd' fill train up to 6, 'c' is too large for the
    # room that is left, and a single one after it goes into train all the same.
    scaffolds = ["a", "c", "a", "d", "c", "a", None, "d", "a", "e", "f"]
    split = scaffold_split(scaffolds, fractions=(0.7, 0.2, 0.1))
    assert {part: split[part].tolist() for part in PARTS} == {
        "train": [0, 2, 3, 5, 7, 8, 10],
        "valid": [1, 4],
        "test": [9],
    }


@given(st.lists(st.sampled_from("abcdefgh") | st.none(), max_size=60))
def test_scaffold_split_keeps_groups_whole(scaffolds: list[str | None]) -> None:
    split = scaffold_split(scaffolds)
    groups = [{scaffolds[i] for i in split[part].tolist()} for part in PARTS]
    assert None not in set().union(*groups)
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert sum(map(len, split.values())) == sum(scaffold is not None for scaffold in scaffolds)


def test_part_names_of_any_spelling() -> None:
    cells = ["Train", "validation", " val", None, "TEST"]
    assert part_names(cells) == ["train", "valid", "valid", None, "test"]
    with pytest.raises(InputError, match="row 2: the split column 'fold' is 'holdout'; expected train, valid or test"):
        part_names(["train", "holdout"], "fold")
    with pytest.raises(InputError, match="no row of the split column 'fold' is train"):
        part_names(["test", None, "valid"], "fold")


def test_column_split() -> None:
    split = column_split(["test", "train", None, "valid", "train"])
    assert {part: split[part].tolist() for part in PARTS} == {"train": [1, 4], "valid": [3], "test": [0]}
    with pytest.raises(InputError, match="the split has no items in train"):
        column_split(["test"])


@pytest.mark.parametrize("fractions", [(), (1.0,), (0.5, 0.5, 0.5), (NAN, 0.5, 0.5), (-1.0, 1.0, 1.0), ("a", "b", "c")])
def test_fractions_that_are_none(fractions: Any) -> None:
    with pytest.raises(InputError, match="expected three numbers that sum to 1"):
        random_split(np.arange(10), fractions=fractions)


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True])
def test_seeds_that_are_none(seed: Any) -> None:
    with pytest.raises(InputError, match=r"seed is .*; expected an integer of at least 0"):
        random_split(np.arange(10), seed=seed)


def test_valid_is_taken_out_of_train_in_proportion() -> None:
    names = ["train"] * 90 + ["test"] * 10
    classes = np.array([0] * 30 + [1] * 60 + [2] * 10)
    split = column_split(names, classes=classes, seed=3)
    assert np.bincount(classes[split["valid"]]).tolist() == [3, 6]
    assert np.bincount(classes[split["train"]]).tolist() == [27, 54]
    assert split["test"].tolist() == list(range(90, 100))


def scaffolds_of(smiles: list[str]) -> list[str | None]:
    found: list[str | None] = []
    for text in smiles:
        mol = parse_molecule(text)
        found += parse_molecules([text], scaffolds=True).scaffolds if isinstance(mol, str) else [murcko_scaffold(mol)]
    return found


def test_scaffold_split_of_molhiv_is_that_of_ogb() -> None:
    folder = real_data("ogbg_molhiv")
    smiles = read_columns(folder / "mapping" / "mol.csv.gz").text("smiles").to_pylist()
    split = scaffold_split(scaffolds_of(smiles))
    assert {part: len(index) for part, index in split.items()} == {"train": 32901, "valid": 4113, "test": 4113}
    for part in PARTS:
        expected = read_numbers(folder / "split" / "scaffold" / f"{part}.csv.gz", np.int64)[:, 0]
        assert split[part].tolist() == sorted(expected.tolist())


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5), st.integers(0, 5))
def test_a_stratified_split_has_every_item_once_and_every_class_in_proportion(counts: list[int], seed: int) -> None:
    classes = np.repeat(np.arange(len(counts)), counts)
    items = np.arange(len(classes)) * 2
    split = stratified_split(items, classes, seed=seed)
    assert sorted(np.concatenate([split[part] for part in PARTS]).tolist()) == items.tolist()
    for number, count in enumerate(counts):
        for part, fraction in (("valid", 0.1), ("test", 0.1)):
            found = int((classes[split[part].numpy() // 2] == number).sum())
            assert abs(found - fraction * count) <= 1
            assert found or count < 5


def test_a_stratified_split_follows_the_seed() -> None:
    classes = np.arange(100) % 2
    first, again, other = (stratified_split(ITEMS, classes, seed=seed)["test"] for seed in (1, 1, 2))
    assert first.equal(again)
    assert not first.equal(other)


def test_masks() -> None:
    masks: dict[str, list[str | None]] = {
        "train_mask": ["True", "0", None],
        "val_mask": ["false", "1", "no"],
        "test_mask": ["0", "0", "0.0"],
    }
    assert mask_names(masks) == ["train", "valid", None]
    assert [mask_part(name) for name in ("train_mask", "is_test", "Val-Mask", "mask", "train", "test_size_mask")] == [
        *("train", "test", "valid"),
        *(None, None, None),
    ]
    with pytest.raises(InputError, match="no row is in train, according to the masks train_mask"):
        mask_names({"train_mask": ["0"], "test_mask": ["1"]})
