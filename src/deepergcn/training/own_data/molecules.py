"""A user's own file of molecules."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from deepergcn.data.molecules.read import MoleculeSplit, read_molecules
from deepergcn.data.molecules.rows import check_molecule_file, open_rows
from deepergcn.data.progress import ProgressHook
from deepergcn.recipes.schema import DataSection
from deepergcn.training.own_data.columns import own_split
from deepergcn.training.own_data.found import OwnData, label_settings, own_data

_STEPS = 4_000  # of training, roughly, over all epochs
_EPOCHS = (20, 200)  # the fewest and the most
_BATCHES = ((2_000, 32), (20_000, 64), (math.inf, 128))  # largest number of molecules, batch size


def own_molecules(
    path: str | Path,
    *,
    targets: str | Sequence[str],
    smiles_column: str | None = None,
    id_column: str | None = None,
    split: str | None = None,
    strict: bool = False,
    root: str | Path | None = None,
    progress: ProgressHook | None = None,
) -> OwnData:
    """The settings that turn the recipe ``own-molecules`` into one for this file, and the dataset in it.

    The kind of the task follows from the labels; ROC-AUC gives way to accuracy where the validation or the test part
    has only one class; a rare class has a higher weight; the length of training and its early stopping follow from the
    number of molecules.

    Args:
        path: A file of molecules; see :func:`deepergcn.data.read_molecules` for this and the other arguments.
        targets: The column to learn, or several.
        smiles_column: The column of SMILES.
        id_column: The column of names for the molecules.
        split: ``"random"``, ``"scaffold"``, or a column that says train, valid or test; where not given, the column
            "split" if there is one, else ``"random"``.
        strict: Whether a row that cannot be read is an error.
        root: The folder of the cache.
        progress: Called with the number of molecules read and their total number.
    """
    columns = [targets] if isinstance(targets, str) else list(targets)
    options: dict[str, Any] = {"targets": columns, "smiles_column": smiles_column, "id_column": id_column}
    check_molecule_file(Path(path))
    rows = open_rows(Path(path), smiles_column, id_column)
    if split is None:
        split = own_split(rows.table, columns)
    if split in get_args(MoleculeSplit):
        options["split"] = None if split == "random" else split
    else:
        options["split_column"] = split
    options["strict"] = strict or None
    options = {name: value for name, value in options.items() if value is not None}
    dataset = read_molecules(rows, root=root, progress=progress, **options)
    metric, found = label_settings(path, dataset, "molecules")
    data = DataSection(source=str(Path(path).resolve()), options=options | metric)
    train = len(dataset.split["train"])
    batch_size = next(size for most, size in _BATCHES if train <= most)
    fewest, most = _EPOCHS
    epochs = min(max(_STEPS // math.ceil(train / batch_size), fewest), most)
    training = {
        "training.epochs": epochs,
        "training.batch_size": batch_size,
        "training.patience": max(epochs // 5, 10),
    }
    return own_data(data, dataset, found | training)
