"""Atoms and bonds as OGB's integer categories.

Every atom has nine integers and every bond three, each the index of a property in its list; the last index stands
for anything not listed. A network trained on an OGB molecule dataset can thus read any molecule.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rdkit.Chem.rdchem import BondStereo, BondType, ChiralType, HybridizationType, Mol

ATOM_LISTS: tuple[tuple[int, ...], ...] = (
    tuple(range(1, 119)),  # atomic number
    (
        ChiralType.CHI_UNSPECIFIED,
        ChiralType.CHI_TETRAHEDRAL_CW,
        ChiralType.CHI_TETRAHEDRAL_CCW,
        ChiralType.CHI_OTHER,
    ),
    tuple(range(11)),  # total degree
    tuple(range(-5, 6)),  # formal charge
    tuple(range(9)),  # hydrogens
    tuple(range(5)),  # radical electrons
    (
        HybridizationType.SP,
        HybridizationType.SP2,
        HybridizationType.SP3,
        HybridizationType.SP3D,
        HybridizationType.SP3D2,
    ),
    (0,),  # aromatic: anything but no is yes
    (0,),  # in a ring
)
BOND_LISTS: tuple[tuple[int, ...], ...] = (
    (BondType.SINGLE, BondType.DOUBLE, BondType.TRIPLE, BondType.AROMATIC),
    (
        BondStereo.STEREONONE,
        BondStereo.STEREOZ,
        BondStereo.STEREOE,
        BondStereo.STEREOCIS,
        BondStereo.STEREOTRANS,
    ),  # anything else counts as STEREOANY
    (0,),  # conjugated
)

_LOWEST, _HIGHEST = -128, 127


def _lookup(lists: tuple[tuple[int, ...], ...]) -> npt.NDArray[np.uint8]:
    """For each property a table from its value, minus the lowest, to its index in the list."""
    tables = np.empty((len(lists), _HIGHEST - _LOWEST + 1), dtype=np.uint8)
    for table, values in zip(tables, lists, strict=True):
        table[:] = len(values)
        table[np.array(values, dtype=np.int64) - _LOWEST] = np.arange(len(values))
    return tables


_ATOM_LOOKUP, _BOND_LOOKUP = _lookup(ATOM_LISTS), _lookup(BOND_LISTS)


@dataclass(frozen=True, eq=False)
class MoleculeGraphs:
    """Molecules concatenated in flat arrays.

    Args:
        atoms: uint8 [N, 9], the categories of every atom in RDKit's order.
        bonds: int32 [2, B], the two atoms of every bond in RDKit's order, as indices within the molecule.
        bond_features: uint8 [B, 3], the categories of every bond.
        num_atoms: int64 [M], the number of atoms of each molecule.
        num_bonds: int64 [M], the number of bonds of each molecule.
    """

    atoms: npt.NDArray[np.uint8]
    bonds: npt.NDArray[np.int32]
    bond_features: npt.NDArray[np.uint8]
    num_atoms: npt.NDArray[np.int64]
    num_bonds: npt.NDArray[np.int64]

    @classmethod
    def concatenate(cls, parts: list["MoleculeGraphs"]) -> "MoleculeGraphs":
        """Concatenate several of them."""
        parts = parts or [featurize([])]
        return cls(
            atoms=np.concatenate([part.atoms for part in parts]),
            bonds=np.concatenate([part.bonds for part in parts], axis=1),
            bond_features=np.concatenate([part.bond_features for part in parts]),
            num_atoms=np.concatenate([part.num_atoms for part in parts]),
            num_bonds=np.concatenate([part.num_bonds for part in parts]),
        )

    def select(self, keep: npt.NDArray[np.bool_]) -> "MoleculeGraphs":
        """The molecules where ``keep`` [M] is True."""
        atoms, bonds = np.repeat(keep, self.num_atoms), np.repeat(keep, self.num_bonds)
        return MoleculeGraphs(
            atoms=self.atoms[atoms],
            bonds=self.bonds[:, bonds],
            bond_features=self.bond_features[bonds],
            num_atoms=self.num_atoms[keep],
            num_bonds=self.num_bonds[keep],
        )


def featurize(mols: list[Mol]) -> MoleculeGraphs:
    """The graphs of sanitized molecules; implicit hydrogens are counted as a feature of their heavy atom."""
    atoms = [
        (
            atom.GetAtomicNum(),
            atom.GetChiralTag(),
            atom.GetTotalDegree(),
            atom.GetFormalCharge(),
            atom.GetTotalNumHs(),
            atom.GetNumRadicalElectrons(),
            atom.GetHybridization(),
            atom.GetIsAromatic(),
            atom.IsInRing(),
        )
        for mol in mols
        for atom in mol.GetAtoms()
    ]
    bonds = [
        (
            bond.GetBeginAtomIdx(),
            bond.GetEndAtomIdx(),
            bond.GetBondType(),
            bond.GetStereo(),
            bond.GetIsConjugated(),
        )
        for mol in mols
        for bond in mol.GetBonds()
    ]
    atom_values = np.array(atoms, dtype=np.int32).reshape(-1, len(ATOM_LISTS))
    bond_values = np.array(bonds, dtype=np.int32).reshape(-1, 2 + len(BOND_LISTS))
    return MoleculeGraphs(
        atoms=_categories(atom_values, _ATOM_LOOKUP),
        bonds=np.ascontiguousarray(bond_values[:, :2].T),
        bond_features=_categories(bond_values[:, 2:], _BOND_LOOKUP),
        num_atoms=np.array([mol.GetNumAtoms() for mol in mols], dtype=np.int64),
        num_bonds=np.array([mol.GetNumBonds() for mol in mols], dtype=np.int64),
    )


def _categories(values: npt.NDArray[np.int32], lookup: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    index = np.clip(values, _LOWEST, _HIGHEST) - _LOWEST
    return np.take_along_axis(lookup, index.T, axis=1).T.copy()
