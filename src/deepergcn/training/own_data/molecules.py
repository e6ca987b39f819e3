"""A user's own file of molecules."""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.descriptor_names import KINDS, check_names, described
from deepergcn.data.molecules.descriptors import gaps_of_columns
from deepergcn.data.molecules.fragments import Fragments
from deepergcn.data.molecules.read import MoleculeSplit, read_molecules
from deepergcn.data.molecules.rows import MoleculeRows, check_molecule_file, open_rows
from deepergcn.data.provenance import MoleculeProvenance
from deepergcn.data.registry import NOT_DESCRIBED, checked_options
from deepergcn.data.storage.progress import ProgressHook
from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.labels import infer_labels
from deepergcn.errors import InputError, quote
from deepergcn.recipes.schema import DataSection
from deepergcn.training.own_data.choices import Choices
from deepergcn.training.own_data.columns import left_out, named_columns
from deepergcn.training.own_data.found import OwnData, label_settings, own_data
from deepergcn.training.own_data.report import report_data
from deepergcn.training.own_data.split_choice import choose_split
from deepergcn.user_cache import real_path

_STEPS = 4_000  # of training, roughly, over all epochs
_EPOCHS = (20, 200)  # the fewest and the most
_EPOCHS_OF_MOLECULES = 50  # the most, unless they are so few that fewer than 32,000 are seen in these
_MOLECULES_SEEN = 32_000
_MOST_BLENDED = 10_000  # molecules of the train part, where nothing is said of a blend
_BATCHES = ((2_000, 32), (20_000, 64), (math.inf, 128))  # largest number of graphs, batch size
_BATCHES_OF_MOLECULES = ((256, 32), (20_000, 64), (math.inf, 128))


def own_molecules(
    molecules: str | Path | MoleculeRows,
    *,
    targets: str | Sequence[str],
    smiles_column: str | None = None,
    id_column: str | None = None,
    fragments: Fragments = "all",
    descriptors: Sequence[str] = (),
    join: bool = True,
    blend: bool | None = False,
    strict: bool = False,
    choices: Choices = Choices(),  # noqa: B008 (it is frozen)
    root: str | Path | None = None,
    progress: ProgressHook | None = None,
) -> OwnData:
    """The settings that turn the recipe ``own-molecules`` into one for this file, the dataset in it, and a report.

    What is not given is inferred from the file: the kind of the task and the positive class from the labels, the split
    from a column "split" or masks (else it is random, stratified where there are classes), the metric from the kind. A
    rare class has a higher weight; the length of training and its early stopping follow from the number of molecules.

    Args:
        molecules: A file of molecules, or its rows where it has been opened; see
            :func:`deepergcn.data.read_molecules` for this and the other arguments.
        targets: The column to learn, several, or ``"all"``.
        smiles_column: The column of SMILES.
        id_column: The column of names for the molecules.
        fragments: ``"largest"`` keeps the largest fragment of each molecule alone.
        descriptors: Descriptors of molecules in addition to their graphs, as for :func:`deepergcn.data.read_molecules`.
        join: Whether the network learns from the descriptors too, not a blended forest alone.
        blend: Whether the predictions are averaged with those of a random forest on these descriptors; None to do so
            where the train part has at most 10,000 molecules, since forests grow with them.
        strict: Whether a row that cannot be read is an error.
        choices: What the user chooses instead of having it inferred.
        root: The folder of the cache.
        progress: Called with the number of molecules read and their total number.
    """
    if isinstance(molecules, MoleculeRows):
        rows, path = molecules, molecules.table.path
    else:
        path = Path(molecules)
        check_molecule_file(path)
        further = choices.options
        rows = open_rows(
            path,
            further.get("smiles_column", smiles_column),
            further.get("id_column", id_column),
            further.get("delimiter", choices.delimiter),
        )
    taken = [name for name in (rows.smiles_column, id_column) if name is not None]
    named = [targets] if isinstance(targets, str) else list(targets)
    columns = named_columns(rows.table, named, taken)
    schema = infer_labels(
        rows.table, columns, choices.kind, positive=tuple(choices.positive), missing=tuple(choices.missing)
    )
    split = choose_split(rows.table, columns, choices, schema.kind, get_args(MoleculeSplit))
    said: dict[str, Any] = {
        "targets": columns,
        "smiles_column": smiles_column,
        "id_column": id_column,
        "fragments": None if fragments == "all" else fragments,
        "strict": strict or None,
        "kind": schema.kind,
        "positive": [pair[1] for pair in schema.classes] if schema.kind in ("binary", "multi-label") else None,
    }
    options = {name: value for name, value in said.items() if value is not None}
    options |= choices.reader_options() | split.options | dict(choices.options)
    checked = checked_options(str(path), read_molecules, options, without=NOT_DESCRIBED)
    if blend and not descriptors:
        raise InputError("--blend forest: a forest needs descriptors; expected --descriptors, such as morgan")
    _check_descriptors(rows, descriptors, (*columns, *split.columns))
    read = partial(read_molecules, rows, root=root, progress=progress, warn=False)
    dataset = read(descriptors=tuple(descriptors), **checked)
    if blend is None:
        blend = bool(descriptors) and len(dataset.split["train"]) <= _MOST_BLENDED
    if not (join or blend):  # nothing learns from them
        descriptors, dataset = (), dataset.replace(fingerprints=None, descriptors=None)
    _check_classes(rows.table, dataset)
    labels = label_settings(
        rows.table, dataset, choices, "molecules", lambda number: read(**checked | {"fold": [number, choices.folds]})
    )
    provenance = dataset.provenance
    assert isinstance(provenance, MoleculeProvenance)
    readable = described(descriptors, gaps_of_columns(rows.table.take(provenance.row_numbers() - 1), descriptors))
    report = report_data(
        [rows.table],
        dataset,
        provenance.labels or schema,
        split,
        labels,
        choices,
        molecules=provenance.counts,
        fragments=provenance.fragments,
        descriptors=readable if join else (),
        blend=f"random forest on {'these descriptors' if join else ', '.join(readable)}" if blend else None,
        dropped=tuple(left_out(rows.table, taken)) if named == ["all"] != columns else (),
    )
    data = DataSection(
        source=str(real_path(path)),
        options={**options, "metric": labels.metrics[0]},
        descriptors=tuple(descriptors),
    )
    others = labels.settings | {"model.descriptors": join} | molecule_training_length(len(dataset.split["train"]))
    return own_data(data, dataset, others | ({"blend.model": "forest"} if blend else {"blend": None}), report)


def _check_classes(table: Columns, dataset: Dataset) -> None:
    """Check that every class has a molecule that can be read."""
    if dataset.task.kind != "multi-class":
        return
    counts = torch.bincount(dataset.y[dataset.y >= 0], minlength=dataset.task.outputs).tolist()
    if 0 in counts:
        name = dataset.label_names[counts.index(0)]
        raise InputError(
            f"{table.path}: no molecule of the class {quote(name)} can be read; --missing {quote(name)} leaves the "
            "class out"
        )


def _check_descriptors(rows: MoleculeRows, names: Sequence[str], taken: Sequence[str]) -> None:
    """Check that the descriptors that are columns hold numbers, and are neither targets nor the split."""
    columns = [name for name in check_names(names) if name not in KINDS]
    for name in columns:
        if name not in rows.table.names:
            raise InputError(
                f"{rows.table.path}: --descriptors is {name!r}; expected {', '.join(KINDS)}, or a column of numbers: "
                f"{rows.table.quoted_names()}"
            )
        if name in taken:
            raise InputError(f"--descriptors: the column {name!r} is a target or the split; expected another column")
        rows.table.numbers(name)


def training_length(train: int) -> dict[str, int]:
    """The settings of the length of training on this number of graphs."""
    batch_size, steps = _batches(train, _BATCHES)
    fewest, most = _EPOCHS
    return _settings(batch_size, epochs := min(max(_STEPS // steps, fewest), most), patience=epochs // 5)


def molecule_training_length(train: int) -> dict[str, int]:
    """The settings of the length of training on this number of molecules, whose descriptors are learned fast.

    Training goes on to where the learning rate has fallen, unless nothing has been gained in half of the epochs.
    """
    batch_size, steps = _batches(train, _BATCHES_OF_MOLECULES)
    fewest, most = _EPOCHS
    epochs = min(max(_STEPS // steps, fewest), max(_EPOCHS_OF_MOLECULES, min(_MOLECULES_SEEN // train, most)))
    return _settings(batch_size, epochs, patience=epochs // 2)


def _batches(train: int, sizes: Sequence[tuple[float, int]]) -> tuple[int, int]:
    """The size and number of the batches of an epoch."""
    size = next(size for most, size in sizes if train <= most)
    return size, math.ceil(train / size)


def _settings(batch_size: int, epochs: int, patience: int) -> dict[str, int]:
    return {
        "training.epochs": epochs,
        "training.batch_size": batch_size,
        "training.patience": max(patience, 10),
    }
