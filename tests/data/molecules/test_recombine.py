"""New molecules of parts of others: whole molecules, of the same bonds, and the same ones for a seed."""

from collections import Counter

import pytest
from rdkit import Chem
from rdkit.Chem import BRICS

from deepergcn.data.molecules.recombine import recombine
from deepergcn.errors import InputError

PARENTS = (
    "CCC(=O)Nc1ccccc1",
    "CC(=O)NCCC",
    "c1ccncc1OCCc1ccsc1",
    "O=C(O)c1ccccc1NC(=O)CCN1CCOCC1",
    "COc1ccc(CNC(=O)c2ccco2)cc1",
    "CCS(=O)(=O)Nc1ccc(Cl)cc1",
)
MOLS = [Chem.MolFromSmiles(text) for text in PARENTS]


def _bonds(mol: Chem.Mol) -> Counter[tuple[str, ...]]:
    """The bonds that BRICS cuts, by kind."""
    return Counter(tuple(sorted(kind)) for _, kind in BRICS.FindBRICSBonds(mol))  # type: ignore[no-untyped-call]


def test_new_molecules_are_whole_and_new() -> None:
    made = recombine(MOLS, 15, seed=0)
    assert len(set(made)) == 15
    assert not set(made).intersection(map(Chem.MolToSmiles, MOLS))
    kinds = set().union(*map(_bonds, MOLS))
    for text in made:
        mol = Chem.MolFromSmiles(text)
        assert Chem.MolToSmiles(mol) == text
        assert len(Chem.GetMolFrags(mol)) == 1
        assert mol.GetNumAtoms() <= max(parent.GetNumAtoms() for parent in MOLS)
        assert sum(atom.GetNumRadicalElectrons() for atom in mol.GetAtoms()) == 0
        assert kinds.intersection(_bonds(mol)), text


def test_parts_are_joined_at_bonds_of_the_same_kind() -> None:
    """Two amides and an ether: only the amides change their parts."""
    mols = [Chem.MolFromSmiles(text) for text in ("CCC(=O)Nc1ccccc1", "CC(=O)NCCC", "CCCCCCCCOCCCC")]
    every = {text for seed in range(5) for text in recombine(mols, 2, seed)}
    amides = {"CCCNC(=O)CC", "CC(=O)Nc1ccccc1"}
    assert amides <= every
    assert all("N" not in text or "O" in text for text in every)


def test_the_seed_decides() -> None:
    first, again, other = (recombine(MOLS, 10, seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_part_of_a_salt_is_kept() -> None:
    mols = [Chem.MolFromSmiles(text) for text in ("CCC(=O)Nc1ccccc1.[Na+].[Cl-]", "CC(=O)NCCC.Cl", "CCCCCCCCCCCC")]
    assert set(recombine(mols, 2, seed=0)) == {"CCCNC(=O)CC", "CC(=O)Nc1ccccc1"}


@pytest.mark.parametrize(("texts", "count"), [(("CC", "CCC"), 1), ((), 1), (PARENTS[:2], 3), (("C" * 300,), 1)])
def test_too_few_bonds_are_an_error(texts: tuple[str, ...], count: int) -> None:
    message = rf"parts of {len(texts)} molecules do not make {count} new ones; expected at most about [012]$"
    with pytest.raises(InputError, match=message):
        recombine([Chem.MolFromSmiles(text) for text in texts], count, seed=0)


def test_weights_say_which_parents_are_drawn() -> None:
    """With two parents that weigh next to all, their parts alone are found."""
    weights = [1.0, 1.0, *[1e-12] * (len(MOLS) - 2)]
    assert set(recombine(MOLS, 2, 0, weights)) == {"CCCNC(=O)CC", "CC(=O)Nc1ccccc1"}
    assert set(recombine(MOLS, 10, 0)) != set(recombine(MOLS, 10, 0, [1.0] * 5 + [30.0]))
