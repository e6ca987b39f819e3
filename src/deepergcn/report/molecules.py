"""Molecules as pictures, plain or with the contributions of their atoms and bonds."""

from collections.abc import Mapping

_HIGH = (0.84, 0.37, 0.0)
_LOW = (0.0, 0.45, 0.70)
"""The colours of what raises the output, and of what lowers it, which differ for colour-blind readers too."""

_MOST_ATOMS = 500


def draw_molecule(
    smiles: str,
    atoms: Mapping[int, float] | None = None,
    bonds: Mapping[tuple[int, int], float] | None = None,
    size: tuple[int, int] = (240, 160),
) -> str:
    """The molecule as SVG; empty where the text is none, where its atoms are not those of the contributions, or where
    they are more than 500, whose places RDKit may look for during hours.

    Args:
        smiles: the molecule.
        atoms: the contribution of every atom, by its number from 0; orange raises the output, blue lowers it.
        bonds: the contribution of every bond, by the numbers of its atoms.
        size: width and height.
    """
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or not 0 < molecule.GetNumAtoms() <= _MOST_ATOMS:
        return ""
    if atoms is not None and len(atoms) != molecule.GetNumAtoms():
        return ""
    drawer = rdMolDraw2D.MolDraw2DSVG(*size)
    if atoms is None:
        drawer.DrawMolecule(molecule)
    else:
        numbers = {ends: molecule.GetBondBetweenAtoms(*ends) for ends in bonds or ()}
        by_bond = {bond.GetIdx(): (bonds or {})[ends] for ends, bond in numbers.items() if bond is not None}
        largest = max((abs(value) for value in (*atoms.values(), *by_bond.values())), default=0.0) or 1.0
        drawer.DrawMolecule(
            molecule,
            highlightAtoms=list(atoms),
            highlightAtomColors={number: _colour(value / largest) for number, value in atoms.items()},
            highlightBonds=list(by_bond),
            highlightBondColors={number: _colour(value / largest) for number, value in by_bond.items()},
        )
    drawer.FinishDrawing()
    text: str = drawer.GetDrawingText()
    return text[text.index("<svg") :]


def _colour(share: float) -> tuple[float, float, float]:
    """From white at 0 to the full colour at 1 or -1."""
    full = _HIGH if share > 0 else _LOW
    red, green, blue = (1 - abs(share) * (1 - part) for part in full)
    return red, green, blue
