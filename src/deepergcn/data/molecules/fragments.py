"""Molecules of several fragments, such as salts."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rdkit.Chem.rdchem import Mol

Fragments = Literal["all", "largest"]
"""Which fragments of a molecule are kept."""


def largest_fragment(mol: "Mol") -> "Mol":
    """The fragment with the most heavy atoms; of those with the most atoms, and then the first."""
    from rdkit import Chem

    fragments: tuple[Mol, ...] = Chem.GetMolFrags(mol, asMols=True)
    return max(fragments, key=lambda fragment: (fragment.GetNumHeavyAtoms(), fragment.GetNumAtoms()))
