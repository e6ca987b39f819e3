"""Parse and featurize molecules in parallel; those that cannot be read are kept with the reason."""

import contextlib
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import joblib
import numpy as np
import numpy.typing as npt
from rdkit import Chem, rdBase
from rdkit.Chem.rdchem import Mol

from deepergcn.cores import check_jobs
from deepergcn.data.molecules.featurize import MoleculeGraphs, featurize
from deepergcn.data.molecules.fragments import Fragments, largest_fragment
from deepergcn.data.molecules.skipped import Skipped
from deepergcn.data.molecules.smiles import canonical_smiles, murcko_scaffold
from deepergcn.data.storage.progress import ProgressHook
from deepergcn.data.storage.workers import in_processes
from deepergcn.errors import InputError, quote

Form = Literal["smiles", "molblock"]
"""The format of a molecule: SMILES, or a record of an SDF file."""

_MOST_ATOMS = 100_000
_MOST_RING_ATOMS, _MOST_RINGS = 5_000, 500  # in a molecule with rings: RDKit's time and memory grow with their cube
_LONG = {"smiles": 1_000, "molblock": 20_000}  # a shorter text has fewer atoms and rings than that
_PLAIN = re.compile(  # without blanks, marks of stereochemistry, atoms of hydrogen, isotopes and atom maps
    r"(?=.{1,1000}\Z)(?:[A-Za-z0-9()=#.%+-]"
    r"|\[(?:[A-GI-Z][a-z]?|H[efgos]|[bcnops]|se|as)(?:H[0-9]?)?(?:\+\+|--|[+-][0-9]?)?\])+"
)
_OTHER_FORMS = re.compile(r"\s*(?:(InChI=)|\S*?(?<!-)>\S*?(?<!-)>)")  # but not the arrows of dative bonds
_CHUNK = 500
_WORTH_PROCESSES = 20_000  # molecules: a process takes as long to start as some ten thousand to read


@dataclass(frozen=True, eq=False)
class ParsedMolecules:
    """The molecules of a list of texts.

    Args:
        graphs: the molecules that can be read, in order.
        positions: int64 [M], their positions in the list, from 0.
        skipped: the others.
        scaffolds: the scaffold of every text, if requested; ``None`` for a text without one.
        keys: the canonical SMILES of every molecule, or its text if it is too large for one, if requested.
        several_fragments: the number of molecules with several fragments.
        described: what ``describe`` gave, for some of the molecules after the other.
    """

    graphs: MoleculeGraphs
    positions: npt.NDArray[np.int64]
    skipped: tuple[Skipped, ...]
    scaffolds: tuple[str | None, ...] = ()
    keys: tuple[str, ...] = ()
    several_fragments: int = 0
    described: tuple[Any, ...] = ()


class _Wanted(NamedTuple):
    """How texts are read, and what is to be found besides their graphs."""

    form: Form
    scaffolds: bool
    keys: bool
    fragments: Fragments
    describe: Callable[[list[Mol]], Any] | None

    def needs_stereo(self) -> bool:
        """Whether all that RDKit finds in a molecule is needed, and not its atoms and bonds alone."""
        return self.scaffolds or self.keys or self.describe is not None


def parse_molecules(
    texts: Sequence[str | None],
    *,
    form: Form = "smiles",
    scaffolds: bool = False,
    keys: bool = False,
    fragments: Fragments = "all",
    strict: bool = False,
    workers: int | None = None,
    progress: ProgressHook | None = None,
    describe: Callable[[list[Mol]], Any] | None = None,
) -> ParsedMolecules:
    """Parse and featurize molecules in ``workers`` processes (by default one per core).

    A text that cannot be read is skipped with the reason, or raises an error if ``strict``. RDKit prints nothing.
    ``describe`` is called with the molecules, some of them at a time, so that nobody has to parse them again.
    """
    wanted = _Wanted(form, scaffolds, keys, fragments, describe)
    if workers is not None:
        check_jobs(workers, "workers")
    parts: list[ParsedMolecules] = []
    chunks = ((start, texts[start : start + _CHUNK]) for start in range(0, len(texts), _CHUNK))
    if len(texts) < _WORTH_PROCESSES:
        workers = 1
    with contextlib.closing(_parse_chunks(chunks, wanted, workers)) as results:
        for part in results:
            if strict and part.skipped:
                first = part.skipped[0]
                raise InputError(f"row {first.row}: cannot read molecule {quote(first.molecule)}: {first.reason}")
            parts.append(part)
            if progress is not None:
                progress(min(len(parts) * _CHUNK, len(texts)), len(texts))
    return ParsedMolecules(
        graphs=MoleculeGraphs.concatenate([part.graphs for part in parts]),
        positions=np.concatenate([np.empty(0, dtype=np.int64), *(part.positions for part in parts)]),
        skipped=tuple(row for part in parts for row in part.skipped),
        scaffolds=tuple(scaffold for part in parts for scaffold in part.scaffolds),
        keys=tuple(key for part in parts for key in part.keys),
        several_fragments=sum(part.several_fragments for part in parts),
        described=tuple(found for part in parts for found in part.described),
    )


def _parse_chunks(
    chunks: Iterable[tuple[int, Sequence[str | None]]], wanted: _Wanted, workers: int | None
) -> Generator[ParsedMolecules]:
    if workers == 1:
        for start, texts in chunks:
            yield _parse_chunk(start, texts, wanted)
        return
    calls = ((start, texts, wanted) for start, texts in chunks)
    yield from in_processes(_parse_chunk, calls, workers or joblib.cpu_count())


def _parse_chunk(start: int, texts: Sequence[str | None], wanted: _Wanted) -> ParsedMolecules:
    mols: list[Mol] = []
    positions: list[int] = []
    skipped: list[Skipped] = []
    found_scaffolds: list[str | None] = []
    several = 0
    with rdBase.BlockLogs():
        for position, text in enumerate(texts, start=start):
            quick = None if wanted.needs_stereo() else _without_stereo(text, wanted.form)
            mol = quick or parse_molecule(text, wanted.form)
            if isinstance(mol, str):
                skipped.append(Skipped(position + 1, molecule_title(text, wanted.form), mol))
                if wanted.scaffolds:
                    found_scaffolds.append(_scaffold_of_refused(text, wanted.form))
                continue
            if _may_have_fragments(text, wanted.form) and len(Chem.GetMolFrags(mol)) > 1:
                several += 1
                mol = mol if wanted.fragments == "all" else largest_fragment(mol)
            mols.append(mol)
            positions.append(position)
            if wanted.scaffolds:
                found_scaffolds.append(murcko_scaffold(mol))
        named = zip(mols, positions, strict=True) if wanted.keys else ()
        keys = tuple(canonical_smiles(mol) or str(texts[position - start]) for mol, position in named)
        graphs = featurize(mols)
        described = () if wanted.describe is None else (wanted.describe(mols),)
    order = np.array(positions, dtype=np.int64)
    return ParsedMolecules(graphs, order, tuple(skipped), tuple(found_scaffolds), keys, several, described)


def _without_stereo(text: str | None, form: Form) -> Mol | None:
    """The molecule of a SMILES that says nothing of stereochemistry nor hydrogens, if it is one that can be read.

    RDKit's usual way looks for both, which takes a fifth of its time, and finds the same atoms and bonds.
    """
    if form != "smiles" or text is None or not _PLAIN.fullmatch(text):
        return None
    mol = Chem.MolFromSmiles(text, sanitize=False)
    if mol is None or not mol.GetNumAtoms() or Chem.SanitizeMol(mol, catchErrors=True) != Chem.SANITIZE_NONE:
        return None
    return mol


def parse_molecule(text: str | None, form: Form = "smiles") -> Mol | str:
    """The molecule, or RDKit's reason for refusing it."""
    if text is None or not text.strip():
        return "empty"
    if form == "smiles" and not text.split()[0].isascii():  # RDKit passes over such characters at the ends
        return "a character that is not ASCII"
    if form == "smiles" and len(text.strip().splitlines()) > 1:  # RDKit passes over all lines but the first
        return "a line break within the SMILES"
    try:
        if len(text) > _LONG[form] and (reason := _too_large(text, form)):
            return reason
        mol = _read(text, form, sanitize=True)
        if mol is not None:
            return mol if mol.GetNumAtoms() else "no atoms"
        if form == "smiles" and (other := _OTHER_FORMS.match(text)):
            return f"{'an InChI' if other[1] else 'a reaction'}; expected the SMILES of a molecule"
        with rdBase.CaptureErrorLog() as log:  # which takes a fifth as long as reading: only where there is an error
            mol = _read(text, form, sanitize=True)
        if form == "molblock" and not log.messages:
            return "the record is damaged: its lines do not match its counts line"
    except UnicodeEncodeError:
        return "a character that is not Unicode text"
    except (RuntimeError, ValueError) as error:  # an invariant of RDKit that is violated
        return _reason(str(error).strip())
    try:
        return _reason(log.messages)
    except UnicodeDecodeError:  # RDKit may cut a message within a character
        return "a character that is not ASCII"


def _may_have_fragments(text: str | None, form: Form) -> bool:
    return form != "smiles" or text is None or "." in text


def _read(text: str, form: Form, *, sanitize: bool) -> Mol | None:
    if form == "smiles":
        return Chem.MolFromSmiles(text.strip(), sanitize=sanitize)
    return Chem.MolFromMolBlock(text, sanitize=sanitize)


def _too_large(text: str, form: Form) -> str | None:
    """The reason if a molecule is too large for RDKit's ring search."""
    with rdBase.CaptureErrorLog():
        mol = _read(text, form, sanitize=False)
    if mol is None:
        return None
    atoms = mol.GetNumAtoms()
    rings = mol.GetNumBonds() - atoms + len(Chem.GetMolFrags(mol))
    if atoms > _MOST_ATOMS:
        return f"{atoms} atoms; expected at most {_MOST_ATOMS}"
    if rings and (atoms > _MOST_RING_ATOMS or rings > _MOST_RINGS):
        return f"{atoms} atoms and {rings} rings; expected at most {_MOST_RING_ATOMS} and {_MOST_RINGS}"
    return None


def _scaffold_of_refused(text: str | None, form: Form) -> str | None:
    """The scaffold of a molecule refused for its valences only, so that it counts in a split."""
    try:
        mol = None if not text or len(text) > _LONG[form] else _read(text, form, sanitize=False)
        if mol is None or not mol.GetNumAtoms():
            return None
        steps = Chem.SANITIZE_ALL ^ Chem.SANITIZE_PROPERTIES
        if Chem.SanitizeMol(mol, steps, catchErrors=True) != Chem.SANITIZE_NONE:
            return None
        return murcko_scaffold(mol)
    except (RuntimeError, ValueError):  # RDKit's own, for what it cannot handle
        return None


def _reason(messages: str) -> str:
    lines = [re.sub(r"^\[[\d:]+\] ", "", line) for line in messages.splitlines()]
    if not lines:
        return "RDKit gives no reason"
    reason = re.sub(r"^SMILES Parse Error: | (for input|while parsing): .*$", "", lines[0])
    position = re.search(r"around position (\d+)", messages)
    return f"{reason} near position {position[1]}" if position else reason


def molecule_title(text: str | None, form: Form) -> str:
    """The title of a molecule: its SMILES, or the first line of its record."""
    return "" if text is None else text.strip() if form == "smiles" else text.partition("\n")[0].strip()
