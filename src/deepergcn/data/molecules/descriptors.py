"""Descriptors of molecules by RDKit: Morgan counts, MACCS keys, and two lists of numbers."""

import contextlib
import logging
import zlib
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import torch
from rdkit import Chem, rdBase
from rdkit.Chem import Descriptors, rdFingerprintGenerator, rdMolDescriptors
from rdkit.Chem.rdchem import Mol
from safetensors import SafetensorError, safe_open
from torch import Tensor

from deepergcn.data.molecules.descriptor_names import (
    KINDS,
    MACCS_SIZE,
    MORGAN_SIZE,
    NUMBERS,
    PROPERTIES,
    check_names,
)
from deepergcn.data.molecules.fragments import Fragments, largest_fragment
from deepergcn.data.molecules.parse import Form, parse_molecule
from deepergcn.data.storage.files import write_tensors
from deepergcn.data.storage.memory import check_memory
from deepergcn.data.storage.workers import in_processes
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError, listed

RADIUS = 2
_MOST = 1e30  # a larger number is as unknown as an infinite one: its square would not be finite
_CHUNK = 100
_SECONDS = {"morgan": 0.0002, "maccs": 0.001, "properties": 0.001, "rdkit": 0.01}  # for a drug, about
_WORTH_PROCESSES = 5.0  # seconds: a process takes three or four to start

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class MoleculeDescriptors:
    """The descriptors of molecules.

    Attributes:
        fingerprints: uint8 [molecules, counts], ``morgan`` and ``maccs`` in the order in which they were named; None
            without any.
        descriptors: float32 [molecules, numbers], ``properties`` and ``rdkit`` in the order in which they were named,
            then columns; NaN where unknown; None without any.
    """

    fingerprints: Tensor | None = None
    descriptors: Tensor | None = None

    def fields(self) -> dict[str, Tensor | None]:
        """The fields of a :class:`deepergcn.data.Dataset`."""
        return {"fingerprints": self.fingerprints, "descriptors": self.descriptors}


def molecule_descriptors(
    texts: Sequence[str | None],
    names: Sequence[str],
    *,
    form: Form = "smiles",
    fragments: Fragments = "all",
    table: Columns | None = None,
    workers: int | None = None,
    cache_file: Path | None = None,
    key: str = "",
    parts: Sequence["Part"] | None = None,
) -> MoleculeDescriptors:
    """The descriptors of molecules.

    Args:
        texts: the molecules. A molecule that RDKit cannot read has counts of 0 and unknown numbers.
        names: names of :data:`KINDS`, or of columns of numbers in ``table``.
        form: the format of the molecules.
        fragments: which fragments of a molecule are kept.
        table: the rows of the molecules.
        workers: the number of processes; by default one per core.
        cache_file: the file that caches the result of RDKit, valid for the same ``key``.
        key: a digest of everything that the result depends on.
        parts: the results of :func:`describe` for consecutive groups of the molecules, if it was called already.
    """
    names = check_names(names)
    kinds = tuple(name for name in names if name in KINDS)
    columns = [name for name in names if name not in KINDS]
    if columns and table is None:
        raise InputError(
            f"descriptors: {columns[0]!r} would be a column of a file, but this dataset is not read from one; expected "
            f"{', '.join(KINDS)}"
        )
    found = _load(cache_file, key) if cache_file is not None and kinds else None
    if found is None:
        found = _compute(texts, kinds, form, fragments, workers) if parts is None else _joined(parts, kinds)
        if cache_file is not None and kinds:
            _save(cache_file, key, found)
    if table is None or not columns:
        return found
    table.require(columns, "descriptors")
    values = torch.from_numpy(np.stack([table.numbers(name) for name in columns], axis=1))
    numbers = values.masked_fill(values.abs() > _MOST, torch.nan).float()
    both = [numbers] if found.descriptors is None else [found.descriptors, numbers]
    return MoleculeDescriptors(found.fingerprints, torch.cat(both, dim=1))


def gaps_of_columns(table: Columns, names: Sequence[str]) -> dict[str, int]:
    """The number of unknown cells, which the mean of training fills, of every column of numbers that has any."""
    unknown = {name: ~(np.abs(table.numbers(name)) <= _MOST) for name in names if name not in KINDS}
    return {name: int(cells.sum()) for name, cells in unknown.items() if cells.any()}


def notes_on_gaps(table: Columns, names: Sequence[str]) -> list[str]:
    """A readable line for each of these columns."""
    return [
        f"column {name!r} is empty in some rows; the mean of the training data is used there"
        for name in gaps_of_columns(table, names)
    ]


def morgan_shares(text: str, fragments: Fragments = "all") -> npt.NDArray[np.float64] | None:
    """float64 [atoms, counts]: the share of every atom of a SMILES in each of its Morgan counts; None if it is none.

    A count is of circular substructures, which have equal shares in it, and so have the atoms of each: the shares in
    a count that is not 0 add up to 1.
    """
    with rdBase.BlockLogs():
        mol = _molecule(text, "smiles", fragments)
    if mol is None:
        return None
    found = rdFingerprintGenerator.AdditionalOutput()
    found.AllocateBitInfoMap()
    _morgan().GetCountFingerprint(mol, additionalOutput=found)
    shares = np.zeros((mol.GetNumAtoms(), MORGAN_SIZE))
    for place, substructures in found.GetBitInfoMap().items():
        for centre, radius in substructures:
            atoms = _within(mol, centre, radius)
            shares[atoms, place] += 1 / (len(substructures) * len(atoms))
    return shares


def _within(mol: Mol, centre: int, radius: int) -> list[int]:
    """The atoms of a circular substructure."""
    atoms = {centre}
    for number in Chem.FindAtomEnvironmentOfRadiusN(mol, radius, centre) if radius else ():
        bond = mol.GetBondWithIdx(number)
        atoms |= {bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()}
    return sorted(atoms)


def _compute(
    texts: Sequence[str | None], kinds: tuple[str, ...], form: Form, fragments: Fragments, workers: int | None
) -> MoleculeDescriptors:
    if not kinds:
        return MoleculeDescriptors()
    size = MORGAN_SIZE + MACCS_SIZE + 4 * (len(PROPERTIES) + len(NUMBERS))
    check_memory(len(texts) * size, f"descriptors of {len(texts)} molecules")
    if len(texts) * sum(_SECONDS[kind] for kind in kinds) < _WORTH_PROCESSES:
        workers = 1
    chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
    with contextlib.closing(_chunks(chunks, kinds, form, fragments, workers)) as results:
        return _joined(list(results), kinds)


def _joined(parts: Sequence["Part"], kinds: tuple[str, ...]) -> MoleculeDescriptors:
    counts, numbers = ([part[place] for part in parts] for place in (0, 1))
    return MoleculeDescriptors(
        torch.from_numpy(np.concatenate(counts)) if {"morgan", "maccs"} & set(kinds) else None,
        torch.from_numpy(np.concatenate(numbers)) if {"properties", "rdkit"} & set(kinds) else None,
    )


Part = tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]


def _chunks(
    chunks: Iterable[Sequence[str | None]],
    kinds: tuple[str, ...],
    form: Form,
    fragments: Fragments,
    workers: int | None,
) -> Generator[Part]:
    if workers == 1:
        for texts in chunks:
            yield _chunk(texts, kinds, form, fragments)
        return
    calls = ((texts, kinds, form, fragments) for texts in chunks)
    yield from in_processes(_chunk, calls, workers or joblib.cpu_count())


def _chunk(texts: Sequence[str | None], kinds: tuple[str, ...], form: Form, fragments: Fragments) -> Part:
    with rdBase.BlockLogs():
        return describe([_molecule(text, form, fragments) for text in texts], kinds)


def describe(mols: Sequence[Mol | None], names: Sequence[str]) -> Part:
    """The counts [molecules, ...] and the numbers [molecules, ...] that RDKit computes of these descriptors."""
    kinds = tuple(name for name in names if name in KINDS)
    counts = [np.concatenate([np.zeros(0, np.uint8), *_counts(mol, kinds)]) for mol in mols or (None,)]
    numbers = [_numbers(mol, kinds) for mol in mols or (None,)]
    return np.stack(counts)[: len(mols)], np.stack(numbers)[: len(mols)]


def _molecule(text: str | None, form: Form, fragments: Fragments) -> Mol | None:
    mol = parse_molecule(text, form)
    if isinstance(mol, str):
        return None
    return largest_fragment(mol) if fragments == "largest" and len(Chem.GetMolFrags(mol)) > 1 else mol


def _counts(mol: Mol | None, kinds: tuple[str, ...]) -> list[npt.NDArray[np.uint8]]:
    found = []
    for kind in kinds:
        if kind == "morgan":
            counts = np.zeros(MORGAN_SIZE) if mol is None else _morgan().GetCountFingerprintAsNumPy(mol)
            found.append(np.minimum(counts, 255).astype(np.uint8))
        elif kind == "maccs":
            keys = np.zeros(MACCS_SIZE, np.uint8)
            if mol is not None:
                keys[list(rdMolDescriptors.GetMACCSKeysFingerprint(mol).GetOnBits())] = 1
            found.append(keys)
    return found


def _numbers(mol: Mol | None, kinds: tuple[str, ...]) -> npt.NDArray[np.float32]:
    of_kind = {"properties": _properties, "rdkit": _rdkit}
    values = np.concatenate([np.zeros(0), *(of_kind[kind](mol) for kind in kinds if kind in of_kind)])
    values[~(np.abs(values) <= _MOST)] = np.nan
    return values.astype(np.float32)


def _properties(mol: Mol | None) -> npt.NDArray[np.float64]:
    if mol is not None:
        properties = _computed_properties()
        with contextlib.suppress(RuntimeError, ValueError):
            return np.array(properties.ComputeProperties(mol))
    return np.full(len(PROPERTIES), np.nan)


def _rdkit(mol: Mol | None) -> npt.NDArray[np.float64]:
    values = np.full(len(NUMBERS), np.nan)
    if mol is not None:
        for place, function in enumerate(_functions()):
            with contextlib.suppress(RuntimeError, ValueError, ZeroDivisionError, OverflowError):
                values[place] = function(mol)
    return values


@cache
def _computed_properties() -> Any:
    _check_known("properties", PROPERTIES, rdMolDescriptors.Properties.GetAvailableProperties())
    return rdMolDescriptors.Properties(list(PROPERTIES))


@cache
def _functions() -> tuple[Callable[[Mol], float], ...]:
    known = dict(Descriptors.descList)
    _check_known("rdkit", NUMBERS, known)
    return tuple(known[name] for name in NUMBERS)


def _check_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    missing = sorted(set(names) - set(known))
    if missing:
        raise InputError(
            f"descriptors {kind}: RDKit {rdBase.rdkitVersion} does not have {listed(missing)}; "
            "expected RDKit 2026.09.1, or a later version that has them"
        )


@cache
def _morgan() -> Any:
    return rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=MORGAN_SIZE)


def _load(file: Path, key: str) -> MoleculeDescriptors | None:
    try:
        with safe_open(file, framework="pt") as opened:
            header = (opened.metadata() or {}).get("deepergcn", "")
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118, it is not a dict
    except (OSError, SafetensorError):
        return None
    return MoleculeDescriptors(**arrays) if header == _header(key, arrays) else None


def _save(file: Path, key: str, found: MoleculeDescriptors) -> None:
    arrays = {name: values for name, values in found.fields().items() if values is not None}
    try:
        write_tensors(file, arrays, {"deepergcn": _header(key, arrays)})
    except InputError as error:
        _log.warning("descriptors are not cached: %s", error)


def _header(key: str, arrays: dict[str, Tensor]) -> str:
    return " ".join(
        [key, *(f"{name}={zlib.crc32(values.numpy().tobytes())}" for name, values in sorted(arrays.items()))]
    )
