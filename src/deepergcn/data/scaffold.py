"""The Bemis-Murcko scaffold of a molecule: its rings and the chains between them."""

from rdkit import Chem
from rdkit.Chem.rdchem import Mol


def murcko_scaffold(mol: Mol) -> str:
    """The scaffold as SMILES without stereochemistry; empty for a molecule without rings.

    Valences are not checked: a molecule that RDKit refuses for its valences has a scaffold all the same.
    """
    scaffold = Chem.MurckoDecompose(mol)
    scaffold.ClearComputedProps()
    scaffold.UpdatePropertyCache(strict=False)
    Chem.GetSymmSSSR(scaffold)
    return Chem.MolToSmiles(scaffold, isomericSmiles=False)
