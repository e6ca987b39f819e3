"""Molecules in several rows of a file: how many there are, with which labels, and in which parts."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from torch import Tensor

from deepergcn.categories import ATOM_SIZES
from deepergcn.data.molecules.parse import ParsedMolecules
from deepergcn.data.provenance import MoleculeCounts


def count_molecules(found: ParsedMolecules, y: Tensor, split: Mapping[str, Tensor]) -> MoleculeCounts:
    """Count repeated molecules, salts and dummy atoms, to report them before training.

    Args:
        found: The molecules, with their keys.
        y: Their labels, as a dataset holds them.
        split: Their parts.
    """
    numbers: dict[str, int] = {}  # an array of texts would take as much memory for each as for the longest
    molecule = np.array([numbers.setdefault(key, len(numbers)) for key in found.keys], dtype=np.int64)
    different = len(numbers)
    trained = np.zeros(different, dtype=bool)
    trained[molecule[split["train"].numpy()]] = True
    others = np.concatenate([split[part].numpy() for part in ("valid", "test")])
    return MoleculeCounts(
        several_fragments=found.several_fragments,
        repeated=len(molecule) - different,
        conflicting=int(_conflicting(molecule, different, y).sum()),
        crossing=int(trained[molecule[others]].sum()),
        dummies=_with_dummies(found),
    )


def _with_dummies(found: ParsedMolecules) -> int:
    """The number of molecules with an atom of no element."""
    of_atom = np.repeat(np.arange(len(found.graphs.num_atoms)), found.graphs.num_atoms)
    return len(np.unique(of_atom[found.graphs.atoms[:, 0] == ATOM_SIZES[0] - 1]))


def _conflicting(molecule: npt.NDArray[np.int64], different: int, y: Tensor) -> npt.NDArray[np.bool_]:
    """Whether each molecule is there with two different values of a label."""
    values = y.numpy().astype(np.float64).reshape(len(molecule), -1)
    values = values if y.is_floating_point() else np.where(values < 0, np.nan, values)
    found = np.zeros(different, dtype=bool)
    for column in values.T:
        known = ~np.isnan(column)
        lowest, highest = np.full(different, np.inf), np.full(different, -np.inf)
        np.minimum.at(lowest, molecule[known], column[known])
        np.maximum.at(highest, molecule[known], column[known])
        found |= highest > lowest
    return found
