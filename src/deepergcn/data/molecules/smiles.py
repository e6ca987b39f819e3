"""Texts by which molecules are told apart: their canonical SMILES, and their Bemis-Murcko scaffolds."""

from rdkit import Chem
from rdkit.Chem.rdchem import Mol

MOST_WRITTEN = 5_000
"""RDKit writes atom after atom by recursion, which from some 15,000 atoms on ends the process without a word."""

MOST_ATOMS = 1_000
"""A larger molecule is its own scaffold: RDKit's time grows with the cube of the number of atoms."""


def canonical_smiles(mol: Mol) -> str | None:
    """The canonical SMILES; None for a molecule of more than 5,000 atoms."""
    return None if mol.GetNumAtoms() > MOST_WRITTEN else Chem.MolToSmiles(mol)


def murcko_scaffold(mol: Mol) -> str:
    """The rings of a molecule and the chains between them, as SMILES without stereochemistry; empty without rings.

    Molecules with rings have at most 5,000 atoms. Valences are not checked: a molecule that RDKit refuses for its
    valences still has a scaffold.
    """
    if not mol.GetRingInfo().NumRings():
        return ""
    if mol.GetNumAtoms() > MOST_ATOMS:
        return Chem.MolToSmiles(mol, isomericSmiles=False)
    scaffold = Chem.MurckoDecompose(mol)
    scaffold.ClearComputedProps()
    scaffold.UpdatePropertyCache(strict=False)
    Chem.GetSymmSSSR(scaffold)
    return Chem.MolToSmiles(scaffold, isomericSmiles=False)
