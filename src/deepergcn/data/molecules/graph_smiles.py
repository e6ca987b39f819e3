"""From the graph of a molecule back to the molecule: datasets keep names, not always structures."""

from rdkit import Chem
from rdkit.Chem.rdchem import Mol
from torch import Tensor

from deepergcn.categories import ATOM_SIZES, ATOM_SIZES_2020, BOND_SIZES
from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.smiles import canonical_smiles

_BONDS = (Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE, Chem.BondType.AROMATIC)
_OTHER_ATOM = ATOM_SIZES[0] - 1
_NEUTRAL = 5  # the place of charge 0


def has_molecules(dataset: Dataset) -> bool:
    """Whether the graphs have the features of atoms and bonds that OGB has."""
    return (
        dataset.task.level == "graph"
        and dataset.x_categories in (ATOM_SIZES, ATOM_SIZES_2020)
        and dataset.edge_categories == BOND_SIZES
    )


def graph_smiles(dataset: Dataset, graph: int) -> str:
    """The molecule of a graph as SMILES, without its stereochemistry; empty if it is too large to be written."""
    return canonical_smiles(graph_molecule(dataset, graph)) or ""


def graph_molecule(dataset: Dataset, graph: int) -> Mol:
    """The molecule of a graph, without its stereochemistry, and as yet not sanitized."""
    nodes, edges = _rows(dataset.node_ptr, graph), _rows(dataset.edge_ptr, graph)
    assert dataset.x is not None
    assert dataset.edge_attr is not None
    molecule = Chem.RWMol()
    for number, _, _, charge, hydrogens, radicals, _, aromatic, _ in (
        dataset.x[nodes, : len(ATOM_SIZES)].long().tolist()
    ):
        atom = Chem.Atom(0 if number == _OTHER_ATOM else number + 1)
        atom.SetFormalCharge(charge - _NEUTRAL if charge < ATOM_SIZES[3] - 1 else 0)
        atom.SetNumExplicitHs(hydrogens if hydrogens < ATOM_SIZES[4] - 1 else 0)
        atom.SetNumRadicalElectrons(radicals if radicals < ATOM_SIZES[5] - 1 else 0)
        atom.SetNoImplicit(True)
        atom.SetIsAromatic(bool(aromatic))
        molecule.AddAtom(atom)
    kinds = dataset.edge_attr[edges, 0].tolist()
    for source, target, kind in zip(*dataset.edge_index[:, edges].tolist(), kinds, strict=True):
        if molecule.GetBondBetweenAtoms(source, target) is None:
            molecule.AddBond(source, target, _BONDS[kind] if kind < len(_BONDS) else Chem.BondType.UNSPECIFIED)
    return molecule


def _rows(pointers: Tensor, graph: int) -> slice:
    return slice(int(pointers[graph]), int(pointers[graph + 1]))
