"""Atoms and bonds as OGB's integer categories.

Every atom has nine integers and every bond three, each the index of a property in its list; the last index stands
for anything not listed. A network trained on an OGB molecule dataset can thus read any molecule.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rdkit.Chem.rdchem import (
    BondStereo,
    BondType,
    ChiralType,
    HybridizationType,
    Mol,
    PropertyPickleOptions,
)

from deepergcn.data.kernels.molecules import HEADER, decode_molecules

Values = npt.NDArray[np.int32]

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
_WITHOUT_CONFORMERS = int(PropertyPickleOptions.NoConformers)


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
    """The graphs of sanitized molecules; implicit hydrogens are counted as a feature of their heavy atom.

    All molecules are taken from RDKit's binary form by a kernel, and one that it leaves out by :func:`plain_values`.
    """
    num_atoms = np.array([mol.GetNumAtoms() for mol in mols], dtype=np.int64)
    num_bonds = np.array([mol.GetNumBonds() for mol in mols], dtype=np.int64)
    atom_ptr, bond_ptr = _pointers(num_atoms), _pointers(num_bonds)
    atoms = np.zeros((atom_ptr[-1], len(ATOM_LISTS)), dtype=np.int32)
    bonds = np.empty((bond_ptr[-1], 2), dtype=np.int32)
    bond_values = np.empty((bond_ptr[-1], len(BOND_LISTS)), dtype=np.int32)
    done = np.zeros(len(mols), dtype=np.bool_)
    forms = [mol.ToBinary(_WITHOUT_CONFORMERS) for mol in mols]
    content = np.frombuffer(b"".join(forms), dtype=np.uint8)
    starts = _pointers(np.array([len(form) for form in forms], dtype=np.int64))
    decode_molecules(content, starts, HEADER, atom_ptr, bond_ptr, atoms, bonds, bond_values, done)
    for number in np.flatnonzero(~done).tolist():
        of_atoms, of_bonds = (slice(ptr[number], ptr[number + 1]) for ptr in (atom_ptr, bond_ptr))
        atoms[of_atoms], bonds[of_bonds], bond_values[of_bonds] = plain_values(mols[number])
    return MoleculeGraphs(
        atoms=_categories(atoms, _ATOM_LOOKUP),
        bonds=np.ascontiguousarray(bonds.T),
        bond_features=_categories(bond_values, _BOND_LOOKUP),
        num_atoms=num_atoms,
        num_bonds=num_bonds,
    )


def plain_values(mol: Mol) -> tuple[Values, Values, Values]:
    """The properties of the atoms [atoms, 9], the atoms of the bonds [bonds, 2], and their properties [bonds, 3]."""
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
        for bond in mol.GetBonds()
    ]
    bond_values = np.array(bonds, dtype=np.int32).reshape(-1, 2 + len(BOND_LISTS))
    return (
        np.array(atoms, dtype=np.int32).reshape(-1, len(ATOM_LISTS)),
        bond_values[:, :2],
        bond_values[:, 2:],
    )


def _pointers(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))


def _categories(values: npt.NDArray[np.int32], lookup: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    index = np.clip(values, _LOWEST, _HIGHEST) - _LOWEST
    return np.take_along_axis(lookup, index.T, axis=1).T.copy()
