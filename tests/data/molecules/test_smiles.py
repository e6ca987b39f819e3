"""Scaffolds: rings and the chains between them, for every molecule in time."""

import pytest
from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from deepergcn.data.molecules.smiles import MOST_ATOMS, MOST_WRITTEN, canonical_smiles, murcko_scaffold


@pytest.mark.parametrize(
    ("smiles", "scaffold"),
    [
        ("CCO", ""),
        ("Cc1cc(Oc2nccc(CCC)c2)ccc1", "c1ccc(Oc2ccccn2)cc1"),
        ("C[C@H]1CCC[C@@H](O)C1=O", "O=C1CCCCC1"),
        ("[Na+].[O-]c1ccccc1", "c1ccccc1"),
    ],
)
def test_scaffold(smiles: str, scaffold: str) -> None:
    mol = Chem.MolFromSmiles(smiles)
    assert murcko_scaffold(mol) == scaffold
    assert Chem.MolToSmiles(MurckoScaffold.GetScaffoldForMol(mol), isomericSmiles=False) == scaffold  # type: ignore[no-untyped-call]


def test_a_very_large_molecule_is_its_own_scaffold() -> None:
    chain = "C" * MOST_ATOMS
    assert murcko_scaffold(Chem.MolFromSmiles(chain + "C")) == ""
    assert murcko_scaffold(Chem.MolFromSmiles(f"{chain}C1CC1")) == f"{chain}C1CC1"


def test_no_smiles_are_written_of_molecules_whose_atoms_are_too_many_for_rdkit() -> None:
    chain = "C" * MOST_WRITTEN
    assert canonical_smiles(Chem.MolFromSmiles(chain)) == chain
    assert canonical_smiles(Chem.MolFromSmiles(chain + "C")) is None
