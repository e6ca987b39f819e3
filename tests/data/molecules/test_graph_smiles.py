"""Molecules come back from their graphs."""

from pathlib import Path

import torch
from rdkit import Chem

from deepergcn.data import read_molecules
from deepergcn.data.molecules.graph_smiles import graph_smiles, has_molecules

MOLECULES = (
    "CCO",
    "c1ccc2[nH]ccc2c1",
    "C[N+](C)(C)CC([O-])=O",
    "[O-][n+]1ccccc1",
    "C#CC=C",
    "[Na+].[Cl-]",
    "[CH3]",
    "c1ccsc1C(=O)N",
    "OS(=O)(=O)c1ccc(Br)cc1",
    "[2H]C",
)


def test_molecules_come_back_from_their_graphs(tmp_path: Path) -> None:
    file = tmp_path / "molecules.csv"
    file.write_text("smiles,y\n" + "".join(f"{smiles},{number}.5\n" for number, smiles in enumerate(MOLECULES)))
    dataset = read_molecules(file, targets="y")
    assert has_molecules(dataset)
    for number, smiles in enumerate(MOLECULES):
        expected = Chem.MolFromSmiles(smiles)
        for atom in expected.GetAtoms():
            atom.SetIsotope(0)
        found = Chem.MolFromSmiles(graph_smiles(dataset, number))
        assert Chem.MolToSmiles(found) == Chem.MolToSmiles(Chem.RemoveHs(expected)), smiles


def test_other_graphs_are_no_molecules(tmp_path: Path) -> None:
    file = tmp_path / "molecules.csv"
    file.write_text("smiles,y\nCCO,1.5\nCCC,2.5\nCCN,3.5\n")
    dataset = read_molecules(file, targets="y")
    assert dataset.x is not None
    assert not has_molecules(dataset.replace(x=torch.zeros(dataset.num_nodes, 2), x_categories=None))
