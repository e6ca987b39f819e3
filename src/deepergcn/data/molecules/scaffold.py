"""The Bemis-Murcko scaffold of a molecule: its rings and the chains between them."""

from rdkit import Chem
from rdkit.Chem.rdchem import Mol

MOST_ATOMS = 1_000
"""A larger molecule is its own scaffold: RDKit's time grows with the cube of the number of atoms."""


def murcko_scaffold(mol: Mol) -> str:
    """The scaffold as SMILES without stereochemistry; empty for a molecule without rings.

    Valences are not checked: a molecule that RDKit refuses for its valences still has a scaffold.
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
