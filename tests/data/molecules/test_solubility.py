"""The default dataset comes offline, with its own test part and a fair valid part."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from deepergcn.data import Task, load_dataset
from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.molecules.solubility import SOLUBILITY_FILE, load_solubility
from deepergcn.data.tables.columns import read_columns
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


def test_by_name(root: Path) -> None:
    assert_same(load_dataset("solubility", root=root), load_solubility(root=root))


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (0, "266ca468b1a1188deaefb3370368c52688c28e2faadd1c28c45f375998daf90d"),
        (1, "ca38af9eb075b5b47c4778237be81673e9b62b4e06440e22580b75e1b52eae5a"),
    ],
)
def test_arrays_are_those_of_the_sdf_files(root: Path, seed: int, expected: str) -> None:
    """The digests were taken when the dataset was read from RDKit's two SDF files: published scores stay valid."""
    dataset = load_solubility(seed=seed, root=root)
    assert dataset.x is not None
    assert dataset.edge_attr is not None
    digest = hashlib.sha256()
    arrays = {
        "node_ptr": dataset.node_ptr,
        "edge_ptr": dataset.edge_ptr,
        "edge_index": dataset.edge_index,
        "x": dataset.x,
        "edge_attr": dataset.edge_attr,
        "y": dataset.y,
        **dataset.split,
    }
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype} {tuple(array.shape)}".encode() + array.contiguous().numpy().tobytes())
    digest.update("\n".join(dataset.ids).encode())
    assert digest.hexdigest() == expected


def test_the_smiles_are_those_of_the_mol_blocks() -> None:
    table = read_columns(SOLUBILITY_FILE)
    from_smiles = parse_molecules(table.text("smiles").to_pylist(), strict=True).graphs
    from_blocks = parse_molecules(table.text("molblock").to_pylist(), form="molblock", strict=True).graphs
    assert np.array_equal(from_smiles.num_atoms, from_blocks.num_atoms)
    assert np.array_equal(from_smiles.num_bonds, from_blocks.num_bonds)
