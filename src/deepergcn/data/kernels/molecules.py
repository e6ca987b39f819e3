"""Atoms and bonds from RDKit's binary form of molecules, which takes one call a molecule instead of a dozen an atom.

The form has a version, and only the one that is known here is read; a molecule with anything unusual in it, such as
atom map numbers or more than 255 atoms, is left to the plain
code of :mod:`deepergcn.data.molecules.featurize`, which defines all.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from deepergcn.data.kernels.jit import compiled

Array = npt.NDArray[Any]

HEADER = np.array([0xDEADBEEF, 0, 16, 4, 0], dtype="<u4").view(np.uint8)
"""How a molecule begins in the version that is known here; the numbers of its atoms and bonds follow."""

_SINGLE, _SP3 = 1, 4
_ATOMS_BEGIN, _BONDS_BEGIN, _RINGS_BEGIN = 1, 11, 0x42
_MOST_ATOMS = 255  # numbers of atoms are single bytes then


@compiled
def decode_molecules(
    content: Array,
    starts: Array,
    header: Array,
    atom_ptr: Array,
    bond_ptr: Array,
    atoms: Array,
    bonds: Array,
    bond_values: Array,
    done: Array,
) -> None:
    """Write the values of the nine properties of atoms, the two atoms of bonds, and the three properties of bonds.

    Args:
        content: uint8, all molecules one after another.
        starts: int64 [molecules + 1], where each begins.
        header: :data:`HEADER`.
        atom_ptr, bond_ptr: int64 [molecules + 1], where the atoms and the bonds of each begin.
        atoms: int32 [atoms, 9], zeros.
        bonds: int32 [bonds, 2].
        bond_values: int32 [bonds, 3].
        done: bool [molecules], set where all of a molecule was written.
    """
    for m in range(len(starts) - 1):
        at, end = starts[m], starts[m + 1]
        num_atoms, num_bonds = atom_ptr[m + 1] - atom_ptr[m], bond_ptr[m + 1] - bond_ptr[m]
        known = end - at > 30 and num_atoms <= _MOST_ATOMS
        if known:
            for i in range(len(header)):
                known = known and content[at + i] == header[i]
        if not known or content[at + 29] != _ATOMS_BEGIN:
            continue
        at += 30
        for a in range(atom_ptr[m], atom_ptr[m + 1]):
            flags, given = content[at + 1], content[at + 2]
            if flags & 0b10011110 or given & 1 or content[at + 3] > 1:
                known = False
                break
            isotope = content[at + 3] == 1
            atoms[a, 0] = content[at]
            atoms[a, 7] = flags >> 6 & 1
            at += 6
            if given & 2:
                charge = np.int32(content[at])
                atoms[a, 3] = charge - 256 if charge > 127 else charge
                at += 1
            if given & 4:
                atoms[a, 1] = content[at]
                at += 1
            if given & 8:
                atoms[a, 6] = content[at]
                at += 1
            else:
                atoms[a, 6] = _SP3
            if given & 16:
                atoms[a, 4] = content[at]
                at += 1
            if given & 32:
                at += 1  # the explicit valence
            if given & 64:
                atoms[a, 4] += content[at]
                at += 1
            if given & 128:
                atoms[a, 5] = content[at]
                at += 1
            if isotope:
                at += 4
            atoms[a, 2] = atoms[a, 4]
        if not known or content[at] != _BONDS_BEGIN:
            continue
        at += 1
        for b in range(bond_ptr[m], bond_ptr[m + 1]):
            u, v, flags = content[at], content[at + 1], content[at + 2]
            if flags & 0b10010001:
                known = False
                break
            at += 3
            bonds[b, 0], bonds[b, 1] = u, v
            atoms[atom_ptr[m] + u, 2] += 1
            atoms[atom_ptr[m] + v, 2] += 1
            bond_values[b, 0] = _SINGLE
            bond_values[b, 1] = 0
            bond_values[b, 2] = flags >> 5 & 1
            if flags & 8:
                bond_values[b, 0] = content[at]
                at += 1
            if flags & 4:
                at += 1  # the direction
            if flags & 2:
                bond_values[b, 1] = content[at]
                at += 2 + content[at + 1]
        if not known or content[at] != _RINGS_BEGIN:
            continue
        rings = content[at + 1] + content[at + 2] * 256
        at += 5
        for _ in range(rings):
            size = content[at]
            for i in range(at + 1, at + 1 + size):
                atoms[atom_ptr[m] + content[i], 8] = 1
            at += 1 + size
        done[m] = at < end and num_bonds >= 0
