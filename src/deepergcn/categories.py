"""The number of values of every column of OGB's atom and bond features, for data and networks alike."""

ATOM_SIZES = (119, 5, 12, 12, 10, 6, 6, 2, 2)
"""Atomic number, chirality, degree, charge, hydrogens, radical electrons, hybridization, aromatic, in a ring."""

ATOM_SIZES_2020 = (119, 4, 12, 12, 10, 6, 6, 2, 2)
"""The same in 2020, with four values of chirality."""

BOND_SIZES = (5, 6, 2)
"""Type, stereo configuration, conjugated."""
