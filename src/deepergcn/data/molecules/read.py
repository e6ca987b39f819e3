"""Read molecules from tables with a SMILES column or from SDF files, with labels for training or without."""

import logging
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from rdkit import rdBase
from torch import Tensor

from deepergcn.categories import ATOM_SIZES, BOND_SIZES
from deepergcn.data.dataset import Dataset
from deepergcn.data.folds import check_fold, scaffold_fold
from deepergcn.data.molecules.descriptors import MoleculeDescriptors, molecule_descriptors, notes_on_gaps
from deepergcn.data.molecules.featurize import MoleculeGraphs
from deepergcn.data.molecules.fragments import Fragments
from deepergcn.data.molecules.parse import ParsedMolecules
from deepergcn.data.molecules.repeated import count_molecules
from deepergcn.data.molecules.rows import MoleculeRows, check_molecule_file, open_rows, parse_rows
from deepergcn.data.molecules.skipped import write_skipped
from deepergcn.data.provenance import MoleculeProvenance
from deepergcn.data.split import FRACTIONS, all_test, check_split, scaffold_split
from deepergcn.data.storage.cache import cache_file, cached
from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.data.storage.folders import data_root
from deepergcn.data.storage.progress import ProgressHook
from deepergcn.data.tables.columns import as_names, errors_in
from deepergcn.data.tables.labels import infer_labels, missing_labels, read_labels
from deepergcn.data.tables.parts import check_choice, named_parts, split_by_names, split_labelled, valid_share
from deepergcn.data.task import Kind, Metric, Task
from deepergcn.errors import InputError, quote
from deepergcn.user_cache import real_path

MoleculeSplit = Literal["random", "stratified", "scaffold"]

_VERSION = 3  # of the cached data: increase it when the same file gives another dataset

_log = logging.getLogger(__name__)


def read_molecules(
    path: str | Path | MoleculeRows,
    *,
    targets: str | Sequence[str] = (),
    smiles_column: str | None = None,
    id_column: str | None = None,
    delimiter: str | None = None,
    fragments: Fragments = "all",
    kind: Kind | None = None,
    positive: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    metric: Metric | None = None,
    split: MoleculeSplit = "random",
    split_column: str | Sequence[str] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    fold: Sequence[int] | None = None,
    descriptors: Sequence[str] = (),
    strict: bool = False,
    skipped_file: str | Path | None = None,
    root: str | Path | None = None,
    workers: int | None = None,
    progress: ProgressHook | None = None,
    warn: bool = True,
) -> Dataset:
    """Read a dataset of molecules from a ``.csv``, ``.tsv``, ``.sdf``, ``.smi`` (or ``.gz``) or ``.parquet`` file.

    Rows are counted from 1, without the header. A row is skipped if RDKit cannot read its molecule, or if its target is
    not a number in a regression; ``dataset.provenance.skipped`` lists the skipped rows.

    Args:
        path: the file; a CSV file has a header. Or its rows, if they are already open (``open_rows``).
        targets: the columns (or SDF properties) to predict. Empty cells are missing labels.
        smiles_column: the column of SMILES; by default "smiles", ignoring case. An SDF file has none.
        id_column: the column of ids; by default the SMILES, or the titles in an SDF file.
        delimiter: the character between cells; by default found, see :func:`deepergcn.data.tables.csv_file.read_csv`.
        fragments: ``"all"``, or ``"largest"`` to keep only the largest fragment of each molecule.
        kind: the kind of the task; by default inferred, see :func:`deepergcn.data.tables.labels.infer_labels`.
        positive: the positive class of two; by default inferred, see the same function.
        missing: values that mark a missing label.
        metric: the metric; by default the first metric of the kind.
        split: ``"random"`` (over the molecules with a label), ``"stratified"`` (the same within each class) or
            ``"scaffold"`` (OGB's; a molecule refused for its valences counts in the split and is then dropped).
        split_column: a column with the values train, valid and test, instead of ``split``; or several columns that are
            masks, such as ``train_mask``.
        fractions: the fractions of train, valid and test.
        seed: the seed of a random split.
        fold: the number of a fold, from 0, and the number of folds into which ``split`` divides the molecules: this
            fold is the test part, and valid has its share of the others.
        descriptors: descriptors to add to the graph of each molecule: ``"morgan"``, ``"maccs"``, ``"properties"``,
            ``"rdkit"``, or columns of numbers; see :mod:`deepergcn.data.molecules.descriptors`.
        strict: raise an error for a row that cannot be read, instead of skipping it.
        skipped_file: a CSV file to write the skipped rows to.
        root: the folder of the cache.
        workers: the number of processes; by default one per core.
        progress: called with the number of finished molecules and the total.
        warn: log a warning if rows are skipped.
    """
    opened, path = (path, path.table.path) if isinstance(path, MoleculeRows) else (None, Path(path))
    columns = as_names(targets)
    check_choice(split, MoleculeSplit)
    check_split(fractions, seed)
    if fold is not None:
        check_fold(fold)
        if split_column is not None:
            raise InputError(f"{path}: split_column cannot be combined with fold, which makes its own split")
    check_molecule_file(path)
    digest = file_digest(path)

    def build() -> Dataset:
        rows = opened or open_rows(path, smiles_column, id_column, delimiter)
        schema = infer_labels(rows.table, columns, kind, positive=positive, missing=missing)
        names = None if split_column is None else named_parts(rows.table, split_column)
        by_scaffold = names is None and split == "scaffold"
        found = parse_rows(
            rows,
            schema,
            scaffolds=by_scaffold,
            keys=True,
            fragments=fragments,
            strict=strict,
            workers=workers,
            progress=progress,
        )
        y = read_labels(rows.table.take(found.positions), schema)
        if names is not None:
            readable = [names[position] for position in found.positions.tolist()]
            parts = split_by_names(rows.table, readable, y, fractions, seed)
        elif by_scaffold and fold is not None:
            with errors_in(path):
                parts = scaffold_fold(found.scaffolds, check_fold(fold), share=valid_share(fractions))
            parts = _renumber(parts, found.positions)
        elif by_scaffold:
            parts = _renumber(scaffold_split(found.scaffolds, fractions=fractions), found.positions)
        else:
            parts = split_labelled(rows.table, y, split, fractions, seed, fold)
        return molecule_dataset(
            found.graphs,
            name=path.name,
            task=schema.task("graph"),
            y=y,
            split=parts,
            digest=digest,
            label_names=schema.names,
            ids=rows.ids(found.positions),
            provenance=_provenance(
                rows,
                found,
                labels=schema,
                fragments=fragments,
                delimiter=delimiter,
                counts=count_molecules(found, y, parts),
            ),
        )

    options: list[Any] = [columns, smiles_column, id_column, kind, split, split_column, list(fractions), seed]
    options += [delimiter, fragments, positive, missing, *([] if fold is None else [list(fold)])]
    file = cache_file(data_root(root), path.name, str(real_path(path)), options)
    dataset = cached(file, text_digest(_VERSION, rdBase.rdkitVersion, digest, options), build).with_metric(metric)
    _report(path, dataset, strict, skipped_file, warn)
    if not descriptors:
        return dataset
    rows = opened or open_rows(path, smiles_column, id_column, delimiter)
    place = cache_file(data_root(root), f"{path.name}-descriptors", str(real_path(path)), rows.smiles_column)
    key = text_digest(_VERSION, rdBase.rdkitVersion, digest, rows.smiles_column, fragments, list(descriptors))
    found = _descriptors(rows, dataset, descriptors, fragments, workers, place, key)
    return dataset.replace(**found.fields())


def read_molecules_to_predict(
    path: str | Path | MoleculeRows,
    task: Task,
    *,
    label_names: Sequence[str] = (),
    smiles_column: str | None = None,
    id_column: str | None = None,
    delimiter: str | None = None,
    fragments: Fragments = "all",
    descriptors: Sequence[str] = (),
    strict: bool = False,
    skipped_file: str | Path | None = None,
    workers: int | None = None,
    progress: ProgressHook | None = None,
    warn: bool = True,
) -> Dataset:
    """Read the molecules of a file in the order of its rows, without labels, all in the part ``test``.

    ``dataset.provenance`` has the row of each graph and the skipped rows.

    Args:
        path: a file as for :func:`read_molecules`; targets are neither needed nor read.
        task: the task of the network.
        label_names: the names of its outputs.

    The other arguments are those of :func:`read_molecules`.
    """
    opened, path = (path, path.table.path) if isinstance(path, MoleculeRows) else (None, Path(path))
    if opened is None:
        check_molecule_file(path)
    if task.level != "graph":
        raise InputError(f"{path}: the task is on {task.level}s; expected a task on graphs, since molecules are graphs")
    rows = opened or open_rows(path, smiles_column, id_column, delimiter)
    found = parse_rows(rows, None, fragments=fragments, strict=strict, workers=workers, progress=progress)
    count = len(found.positions)
    dataset = molecule_dataset(
        found.graphs,
        name=path.name,
        task=task,
        y=missing_labels(task, count),
        split=all_test(count),
        digest=rows.table.digest(),
        label_names=tuple(label_names),
        ids=rows.ids(found.positions),
        provenance=_provenance(rows, found),
    )
    _report(path, dataset, strict, skipped_file, warn)
    if not descriptors:
        return dataset
    for note in notes_on_gaps(rows.table, descriptors):
        _log.warning("%s: %s", path, note)
    return dataset.replace(**_descriptors(rows, dataset, descriptors, fragments, workers).fields())


def molecule_dataset(graphs: MoleculeGraphs, **fields: Any) -> Dataset:
    """A dataset of these molecules; ``fields`` are the fields of :class:`Dataset` other than the graphs."""
    return Dataset(
        node_ptr=_pointers(graphs.num_atoms),
        edge_ptr=_pointers(graphs.num_bonds),
        edge_index=torch.from_numpy(graphs.bonds),
        symmetric=True,
        x=torch.from_numpy(graphs.atoms),
        x_categories=ATOM_SIZES,
        edge_attr=torch.from_numpy(graphs.bond_features),
        edge_categories=BOND_SIZES,
        **fields,
    )


def _descriptors(
    rows: MoleculeRows,
    dataset: Dataset,
    names: Sequence[str],
    fragments: Fragments,
    workers: int | None,
    place: Path | None = None,
    key: str = "",
) -> MoleculeDescriptors:
    """The descriptors of the molecules of a dataset, which are some of these rows."""
    assert isinstance(dataset.provenance, MoleculeProvenance)
    positions = dataset.provenance.row_numbers() - 1
    return molecule_descriptors(
        [rows.texts[position] for position in positions.tolist()],
        names,
        form=rows.form,
        fragments=fragments,
        table=rows.table.take(positions),
        workers=workers,
        cache_file=place,
        key=text_digest(key, sha256(positions.tobytes()).hexdigest()),
    )


def _renumber(split: dict[str, Tensor], positions: npt.NDArray[np.int64]) -> dict[str, Tensor]:
    """From row indices to graph indices; rows without a graph are dropped."""
    rows = torch.from_numpy(positions)
    return {part: torch.searchsorted(rows, index[torch.isin(index, rows)]) for part, index in split.items()}


def _pointers(counts: npt.NDArray[np.int64]) -> Tensor:
    return torch.from_numpy(np.concatenate(([0], np.cumsum(counts, dtype=np.int64))))


def _provenance(rows: MoleculeRows, found: ParsedMolecules, **fields: Any) -> MoleculeProvenance:
    return MoleculeProvenance(smiles_column=rows.smiles_column, rows=len(rows.texts), skipped=found.skipped, **fields)


def _report(path: Path, dataset: Dataset, strict: bool, skipped_file: str | Path | None, warn: bool) -> None:
    assert isinstance(dataset.provenance, MoleculeProvenance)
    skipped, rows = dataset.provenance.skipped, dataset.provenance.rows
    if skipped:
        first = skipped[0]
        example = f"row {first.row} is {quote(first.molecule)}: {first.reason}"
        if strict:
            raise InputError(f"{path}: {example}")
        if warn:
            _log.warning("%s: %d of %d rows skipped; %s", path, len(skipped), rows, example)
    if skipped_file is not None:
        write_skipped(skipped, skipped_file)
