"""Atoms and bonds get OGB's categories: by hand, and as in the real ogbg-molhiv."""

import numpy as np
import pytest
from rdkit import Chem

from deepergcn.categories import ATOM_SIZES, BOND_SIZES
from deepergcn.data.molecules.featurize import ATOM_LISTS, BOND_LISTS, MoleculeGraphs, featurize
from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.ogb.numbers import read_numbers
from deepergcn.data.tables.columns import read_columns
from tests.data.real import real_data


def graphs(*smiles: str) -> MoleculeGraphs:
    return featurize([Chem.MolFromSmiles(text) for text in smiles])


def test_sizes_of_the_lists() -> None:
    assert tuple(len(values) + 1 for values in ATOM_LISTS) == ATOM_SIZES
    assert tuple(len(values) + 1 for values in BOND_LISTS) == BOND_SIZES


def test_two_molecules_by_hand() -> None:
    found = graphs("CC=O", "c1ccncc1")
    assert found.num_atoms.tolist() == [3, 6]
    assert found.num_bonds.tolist() == [2, 6]
    assert found.atoms[:3].tolist() == [
        [5, 0, 4, 5, 3, 0, 2, 0, 0],
        [5, 0, 3, 5, 1, 0, 1, 0, 0],
        [7, 0, 1, 5, 0, 0, 1, 0, 0],
    ]
    assert found.atoms[6].tolist() == [6, 0, 2, 5, 0, 0, 1, 1, 1]
    assert found.bonds[:, :2].T.tolist() == [[0, 1], [1, 2]]
    assert found.bonds[:, 2:].T.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]]
    assert found.bond_features[:3].tolist() == [[0, 0, 0], [1, 0, 0], [3, 0, 1]]


@pytest.mark.parametrize(
    ("smiles", "atom", "column", "category"),
    [
        ("*C", 0, 0, 118),  # no element: other
        ("[Og]", 0, 0, 117),
        ("F[C@](Cl)(Br)I", 1, 1, 2),
        ("F[C@@](Cl)(Br)I", 1, 1, 1),
        ("C[Pt@SP1](F)(Cl)Br", 1, 1, 4),  # square planar: other
        ("[U+6]", 0, 3, 11),
        ("[Cl-]", 0, 3, 4),
        ("[CH3]", 0, 5, 1),
        ("C#N", 0, 6, 0),
        ("FS(F)(F)(F)(F)F", 1, 6, 4),
        ("[H][H]", 0, 6, 5),
    ],
)
def test_atom_category(smiles: str, atom: int, column: int, category: int) -> None:
    assert graphs(smiles).atoms[atom, column] == category


@pytest.mark.parametrize(
    ("smiles", "bond", "features"),
    [
        ("C#N", 0, [2, 0, 0]),
        ("F/C=C/F", 1, [1, 2, 0]),
        ("F/C=C\\F", 1, [1, 1, 0]),
        ("N->[Fe]", 0, [4, 0, 0]),
        ("C=CC=C", 1, [0, 0, 1]),
    ],
)
def test_bond_categories(smiles: str, bond: int, features: list[int]) -> None:
    assert graphs(smiles).bond_features[bond].tolist() == features


def test_select_keeps_whole_molecules() -> None:
    kept = graphs("CC=O", "C", "c1ccncc1").select(np.array([False, True, True]))
    expected = graphs("C", "c1ccncc1")
    for name in ("atoms", "bonds", "bond_features", "num_atoms", "num_bonds"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(expected, name))


def test_nothing_has_the_right_shapes() -> None:
    empty = MoleculeGraphs.concatenate([])
    assert (empty.atoms.shape, empty.bonds.shape, empty.bond_features.shape) == ((0, 9), (2, 0), (0, 3))


def test_every_fortieth_molecule_of_molhiv() -> None:
    folder = real_data("ogbg_molhiv")
    num_atoms = read_numbers(folder / "raw" / "num-node-list.csv.gz", np.int64)[:, 0]
    num_bonds = read_numbers(folder / "raw" / "num-edge-list.csv.gz", np.int64)[:, 0]
    smiles = read_columns(folder / "mapping" / "mol.csv.gz").text("smiles").to_pylist()
    sample = np.arange(len(smiles)) % 40 == 0
    parsed = parse_molecules([smiles[i] for i in np.flatnonzero(sample)], workers=1)
    sample[np.setdiff1d(np.flatnonzero(sample), np.flatnonzero(sample)[parsed.positions])] = False
    atoms = read_numbers(folder / "raw" / "node-feat.csv.gz", np.uint8)[np.repeat(sample, num_atoms)]
    bonds = read_numbers(folder / "raw" / "edge.csv.gz", np.int32)[np.repeat(sample, num_bonds)]
    bond_features = read_numbers(folder / "raw" / "edge-feat.csv.gz", np.uint8)[np.repeat(sample, num_bonds)]
    found = parsed.graphs
    np.testing.assert_array_equal(found.num_atoms, num_atoms[sample])
    np.testing.assert_array_equal(found.num_bonds, num_bonds[sample])
    np.testing.assert_array_equal(found.bonds.T, bonds)
    # RDKit itself has changed: 583 of the 12.8 million entries of all molecules differ.
    assert int((found.atoms != atoms).sum() + (found.bond_features != bond_features).sum()) <= 60
