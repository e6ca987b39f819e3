"""New molecules made of parts of others, for a model to say something about that no label is known for.

Every molecule is cut at one of the bonds at which BRICS cuts (Degen et al., *On the Art of Compiling and Using
'Drug-Like' Chemical Fragment Spaces*, 2008), which chemists know how to make, and one of the two parts is joined to a
part of another that was cut at a bond of the same kind.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rdkit import Chem, rdBase
from rdkit.Chem import BRICS
from rdkit.Chem.rdchem import Mol

from deepergcn.errors import InputError

_TRIES = 1_000
"""Of so many at least one in a hundred must make something new, else there is hardly more to be found."""

_MOST_ATOMS = 100  # of a molecule, also of a new one

_END = "end"  # the property of the atom at which a part was cut off


class _Cut(NamedTuple):
    """A bond of a molecule, of which the part with the atom ``kept`` is kept.

    Its kind is BRICS' names of the surroundings of the kept atom and of the other.
    """

    mol: Mol
    kept: int
    other: int
    kind: tuple[str, str]


class _Urn:
    """Bonds to draw from."""

    def __init__(self) -> None:
        self.cuts: list[_Cut] = []
        self._weights: list[float] = []
        self._sums: npt.NDArray[np.float64] | None = None

    def put(self, cuts: Sequence[_Cut], weight: float) -> None:
        """Put in bonds that are drawn with this weight together."""
        self.cuts += cuts
        self._weights += [weight / len(cuts)] * len(cuts)

    def draw(self, generator: np.random.Generator) -> _Cut:
        if self._sums is None:
            self._sums = np.cumsum(self._weights)
        place = int(np.searchsorted(self._sums, generator.random() * self._sums[-1], side="right"))
        return self.cuts[min(place, len(self.cuts) - 1)]


def recombine(mols: Sequence[Mol], count: int, seed: int, weights: Sequence[float] | None = None) -> list[str]:
    """Canonical SMILES of new molecules, all different and none of ``mols``.

    Each has a part of one molecule and a part of another, or of the same, and no more atoms than the largest.

    Examples:
        >>> mols = [Chem.MolFromSmiles(text) for text in ("CCC(=O)Nc1ccccc1", "CC(=O)NCCC", "OCCCCCCCCCCCO")]
        >>> recombine(mols, 2, seed=0)
        ['CCCNC(=O)CC', 'CC(=O)Nc1ccccc1']

    Args:
        mols: sanitized molecules; those of more than 100 atoms are left out.
        count: the number of new molecules.
        seed: of all that is drawn.
        weights: how often each of ``mols`` is drawn, relative to the others; all alike if None.
    """
    generator = np.random.default_rng(seed)
    weighed = zip(mols, [1.0] * len(mols) if weights is None else weights, strict=True)
    usual = [(mol, weight) for mol, weight in weighed if mol.GetNumAtoms() <= _MOST_ATOMS]
    most = max((mol.GetNumAtoms() for mol, _ in usual), default=0)
    found: dict[str, None] = {}
    with rdBase.BlockLogs():
        every, of_kind = _urns(usual)
        known = {text for mol, _ in usual for text in Chem.MolToSmiles(mol).split(".")}  # a salt's parts are known too
        while every.cuts and len(found) < count:
            before = len(found)
            for _ in range(_TRIES):
                cut = every.draw(generator)
                text = _joined(cut, of_kind[cut.kind[::-1]].draw(generator), most)
                if text is not None and text not in known:
                    found[text] = None
            if len(found) - before < _TRIES / 100:
                break
    if len(found) < count:
        raise InputError(
            f"parts of {len(mols)} molecules do not make {count} new ones; expected at most about {len(found)}"
        )
    return list(found)[:count]


def _urns(weighed: Sequence[tuple[Mol, float]]) -> tuple[_Urn, dict[tuple[str, str], _Urn]]:
    """The bonds to cut, each both ways round; and those of each kind."""
    every, of_kind = _Urn(), dict[tuple[str, str], _Urn]()
    for mol, weight in weighed:
        cuts = []
        for (first, second), (one, other) in BRICS.FindBRICSBonds(mol):  # type: ignore[no-untyped-call]
            cuts += [_Cut(mol, first, second, (one, other)), _Cut(mol, second, first, (other, one))]
        if cuts:
            every.put(cuts, weight)
        for cut in cuts:
            of_kind.setdefault(cut.kind, _Urn()).put([cut], weight)
    return every, of_kind


def _joined(cut: _Cut, partner: _Cut, most: int) -> str | None:
    """The kept parts of two molecules, joined; None if they have more than ``most`` atoms or make no molecule."""
    parts = _kept(cut), _kept(partner)
    if sum(part.GetNumAtoms() for part in parts) > most:
        return None
    joined = Chem.RWMol(Chem.CombineMols(*parts))
    first, second = (atom.GetIdx() for atom in joined.GetAtoms() if atom.HasProp(_END))
    joined.AddBond(first, second, cut.mol.GetBondBetweenAtoms(cut.kept, cut.other).GetBondType())
    if Chem.SanitizeMol(joined, catchErrors=True) != Chem.SANITIZE_NONE:
        return None
    text = Chem.MolToSmiles(joined)
    return text if Chem.MolFromSmiles(text) is not None else None


def _kept(cut: _Cut) -> Mol:
    """The part with the kept atom, which is marked."""
    part = Chem.RWMol(cut.mol)
    part.RemoveBond(cut.kept, cut.other)
    part.GetAtomWithIdx(cut.kept).SetBoolProp(_END, True)
    own = next(atoms for atoms in Chem.GetMolFrags(part) if cut.kept in atoms)
    part.BeginBatchEdit()
    for atom in set(range(part.GetNumAtoms())).difference(own):
        part.RemoveAtom(atom)
    part.CommitBatchEdit()
    return part.GetMol()
