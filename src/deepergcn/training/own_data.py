"""Settings for training on a user's own files, found from the files."""

import json
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.molecules.read import MoleculeSplit, read_molecules
from deepergcn.data.molecules.rows import check_molecule_file, open_rows
from deepergcn.data.progress import ProgressHook
from deepergcn.data.split import part_names
from deepergcn.data.tables.columns import Columns, errors_in, read_columns
from deepergcn.data.tables.features import MOST_CATEGORIES
from deepergcn.data.tables.read import read_tables, table_files
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection
from deepergcn.runs.dataset import LoadedData
from deepergcn.training.losses import balanced_weight, present_labels

IMBALANCE = 5.0
"""Classes are weighted where one is this many times as frequent as another."""

_STEPS = 4_000  # of training, roughly, over all epochs
_EPOCHS = (20, 200)  # the fewest and the most for molecules
_BATCHES = ((2_000, 32), (20_000, 64), (math.inf, 128))  # largest number of molecules, batch size
_NODES_IN_MEMORY = 50_000  # in one step

_SPLIT_COLUMN = "split"  # in any capitals

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class OwnData:
    """What was found in a user's own files.

    Attributes:
        settings: Settings ``key=value`` for a recipe, in the form that ``--set`` takes.
        loaded: The dataset, so that training need not read the files again.
    """

    settings: tuple[str, ...]
    loaded: LoadedData


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
        split = _own_split(rows.table, columns)
    if split in get_args(MoleculeSplit):
        options["split"] = None if split == "random" else split
    else:
        options["split_column"] = split
    options["strict"] = strict or None
    options = {name: value for name, value in options.items() if value is not None}
    dataset = read_molecules(rows, root=root, progress=progress, **options)
    metric, found = _found(path, dataset, "molecules")
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
    return _own_data(data, dataset, found | training)


def own_tables(
    nodes: str | Path,
    edges: str | Path | None = None,
    *,
    label: str | Sequence[str],
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    split: str | None = None,
    directed: bool = False,
    root: str | Path | None = None,
) -> OwnData:
    """The settings that turn the recipe ``own-tables`` into one for these tables, and the dataset in them.

    As :func:`own_molecules`; in addition, a column of text with too many values to be a category is left out of the
    features, with a warning, and a graph too large for one step is cut into partitions.

    Args:
        nodes: The table of nodes; see :func:`deepergcn.data.read_tables` for this and the other arguments.
        edges: The table of edges.
        label: The label column of the nodes, or several.
        id_column: The column of ``nodes`` with a name for every node.
        source_column: The column of ``edges`` with the name of the node that each edge leaves.
        target_column: The column of ``edges`` with the name of the node that each edge enters.
        split: ``"random"``, or the column of ``nodes`` that says train, valid or test; where not given, the column
            "split" if there is one, else ``"random"``.
        directed: Whether an edge goes from source to target only.
        root: The folder of the cache.
    """
    labels = [label] if isinstance(label, str) else list(label)
    node_file, edge_file = table_files(nodes, edges)
    node_table, edge_table = read_columns(node_file), read_columns(edge_file)
    split = split or _own_split(node_table, labels)
    named = [] if split == "random" else [split]
    options: dict[str, Any] = {
        "label": labels,
        "id_column": id_column,
        "source_column": source_column,
        "target_column": target_column,
        "features": _usable_features(node_table, {id_column, *labels, *_split_columns(node_table), *named}),
        "edge_features": _usable_features(edge_table, {source_column, target_column}),
        "standardize": True,
        **({} if split == "random" else {"split_column": split}),
        **({"directed": True} if directed else {}),
    }
    dataset = read_tables(node_table, edge_table, root=root, **options)
    metric, found = _found(nodes, dataset, "nodes")
    data = DataSection(source=str(node_file.resolve()), edges=str(edge_file.resolve()), options=options | metric)
    others = {
        "data.transforms": _transforms(dataset),
        "training.partitions": math.ceil(dataset.num_nodes / _NODES_IN_MEMORY),
    }
    return _own_data(data, dataset, found | others)


def _found(path: str | Path, dataset: Dataset, items: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The option for a metric where its default cannot score a part, and the settings that follow from the labels."""
    y = {part: dataset.y[dataset.split[part]] for part in PARTS}
    for part in PARTS:
        if not bool(present_labels(y[part]).any()):
            count = sum(len(index) for index in dataset.split.values())
            raise InputError(
                f"{path}: has {count} {items} with a label, which leaves none for {part}; expected at least 10"
            )
    task = dataset.task
    undefined = task.metric == "rocauc" and not all(_both_classes(y[part]) for part in ("valid", "test"))
    balance = task.kind == "regression" or _imbalance(task, y["train"]) >= IMBALANCE
    return {"metric": "accuracy"} if undefined else {}, {"loss.balance": balance}


def _transforms(dataset: Dataset) -> list[str]:
    """Nodes without features have the sums of those of their edges."""
    if dataset.x is not None:
        return []
    if dataset.edge_attr is None:
        raise InputError(f"{dataset.name}: neither nodes nor edges have features; expected a column of them in one")
    return ["node-features-from-edges"]


def _both_classes(y: Tensor) -> bool:
    """Whether some task has both, so that there is a ROC curve."""
    return bool(((y == 0).any(0) & (y == 1).any(0)).any())


def _imbalance(task: Task, y: Tensor) -> float:
    weight = balanced_weight(task, y)
    if task.kind == "multi-class":
        return float(weight.max() / weight.min())
    return float(torch.maximum(weight, 1 / weight).median())


def _own_split(table: Columns, labels: Sequence[str]) -> str:
    """The column "split" of a table, or ``"random"`` where it has none; other values than parts are an error."""
    columns = [name for name in table.names if name.strip().lower() == _SPLIT_COLUMN and name not in labels]
    if not columns:
        return "random"
    if len(columns) > 1:
        found = ", ".join(map(repr, columns))
        raise InputError(f"{table.path}: has the columns {found}; expected one split column, or --split")
    try:
        with errors_in(table.path):
            part_names(table.text(columns[0]).to_pylist(), columns[0])
    except InputError as error:
        raise InputError(f"{error}; --split random splits at random instead") from error
    _log.warning("%s: column %r says train, valid or test, and is the split", table.path, columns[0])
    return columns[0]


def _split_columns(table: Columns) -> list[str]:
    """The columns that say train, valid or test: they are no features, even where another split is wanted."""
    return [name for name in table.names if name.strip().lower() == _SPLIT_COLUMN and _are_parts(table, name)]


def _are_parts(table: Columns, column: str) -> bool:
    try:
        return bool(part_names(table.text(column).to_pylist()))
    except InputError:
        return False


def _usable_features(table: Columns, taken: set[str]) -> list[str]:
    usable = []
    for name in table.names:
        if name in taken:
            continue
        if table.is_numeric(name):
            usable.append(name)
            continue
        values = len(table.text(name).drop_null().unique())
        if 0 < values <= MOST_CATEGORIES:
            usable.append(name)
        else:
            _log.warning(
                "%s: column %r is left out of the features: it has %d different texts; expected numbers or 1 to %d",
                table.path,
                name,
                values,
                MOST_CATEGORIES,
            )
    return usable


def _own_data(data: DataSection, dataset: Dataset, others: dict[str, Any]) -> OwnData:
    """The settings as ``--set`` takes them (JSON is YAML), those of ``data`` first."""
    values = {f"data.{name}": getattr(data, name) for name in ("source", "edges", "options")}
    settings = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in (values | others).items())
    return OwnData(tuple(settings), LoadedData(data, dataset.with_metric(data.options.get("metric"))))
