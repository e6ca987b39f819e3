"""``deepergcn.train``: train a recipe, or a network on data in memory."""

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from deepergcn.api.errors import in_python
from deepergcn.api.stored import Stored, store_graph, store_graphs, store_molecules
from deepergcn.api.trained import Trained
from deepergcn.cli.own_data_options import OwnDataOptions
from deepergcn.cli.progress import run_display
from deepergcn.cli.read_own_data import read_own_data
from deepergcn.cli.terminal import say
from deepergcn.data.memory.graph import Names
from deepergcn.data.molecules.fragments import Fragments
from deepergcn.data.tables.kinds import number_name
from deepergcn.data.task import Kind
from deepergcn.errors import InputError
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.folders import named_folder
from deepergcn.training.train import train as train_recipe

Settings = Sequence[str] | Mapping[str, Any]
"""Changes to a recipe: ``["model.num_layers=14"]`` or ``{"model.num_layers": 14}``."""

_CLASSES = "since its labels are integers, which number classes in PyTorch Geometric; task chooses another"


def train(
    recipe: str | Path | None = None,
    *,
    molecules: Any = None,
    target: Any = None,
    graph: Any = None,
    graphs: Any = None,
    label: Any = None,
    smiles_column: str | None = None,
    id_column: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    directed: bool | None = None,
    features: Sequence[str] | None = None,
    edge_features: Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    numeric: str | Sequence[str] | None = None,
    categorical: str | Sequence[str] | None = None,
    known_labels: bool = False,
    task: Kind | None = None,
    metric: str | Sequence[str] | None = None,
    positive: Any = None,
    missing: Any = None,
    split: Any = None,
    split_fractions: Sequence[float] | None = None,
    split_seed: int | None = None,
    delimiter: str | None = None,
    fragments: Fragments | None = None,
    descriptors: str | Sequence[str] | None = None,
    blend: str | None = None,
    strict: bool = False,
    data: str | Path | None = None,
    settings: Settings = (),
    seed: int | None = None,
    out: str | Path | None = None,
    devices: int = 1,
    resume: bool = False,
    epochs: int | None = None,
    precision: str | None = None,
    tensorboard: bool = False,
    callbacks: Sequence[Callback] = (),
    verbose: bool = False,
) -> Trained:
    """Train a recipe, or a network on your own data, and return the trained network.

    Arguments that are not given are inferred from the data, as on the command line; ``report`` of the result lists
    what was inferred, and why. Data in memory is written to the run directory, so that the command line can evaluate,
    resume and report the run like any other.

    Examples:
        >>> import deepergcn
        >>> alcohols = ["C" * carbons + "O" for carbons in range(1, 41)]
        >>> soluble = [carbons < 20 for carbons in range(1, 41)]
        >>> small = {"model.num_layers": 2}
        >>> model = deepergcn.train(molecules=alcohols, target=soluble, epochs=1, settings=small)
        >>> model.report.targets[0].classes
        {'false': 21, 'true': 19}
        >>> list(model.predict(["CCO", "CCCO"]).columns())
        ['id', 'class', 'p(true)']

    Args:
        recipe: A name listed by ``deepergcn recipes``, or a YAML file; by default ``solubility``, or the recipe for
            this kind of data.
        molecules: A data frame with a column of SMILES or RDKit molecules, a list of either, or a file.
        target: The property of molecules to predict: a column, several columns or ``"all"``; or a value for each
            molecule.
        graph: PyTorch Geometric's ``Data``, a networkx graph, a pair of data frames of nodes and edges, or a pair of
            files.
        graphs: A list or dataset of ``Data``, for a task on whole graphs.
        label: The property of nodes or graphs to predict: a column or attribute, several of them, or a value for each
            node or graph; by default ``y`` of ``Data``. A list of strings names columns; an array holds values.
        smiles_column: The column of SMILES or RDKit molecules.
        id_column: The column of ids.
        source_column, target_column: The columns of the two ends of edges in a data frame.
        directed: Whether edges go from source to target only; by default as in the graph, and False for tables.
        features, edge_features: The columns to use as features; by default all that qualify.
        drop: Columns not to use as features.
        numeric, categorical: Features to treat as numbers, or as categories.
        known_labels: Whether the labels of train nodes are inputs of the network; each step hides some of them and
            learns to predict those.
        task: ``regression``, ``binary``, ``multi-class`` or ``multi-label``.
        metric: One or several metrics; the first selects the best epoch.
        positive: The positive class, or one for each target.
        missing: Values that mark a missing label.
        split: ``stratified``, ``random``, ``scaffold`` or a column; the part of every row; or a mapping from train,
            valid and test to row numbers or masks.
        split_fractions: The fractions of train, valid and test; the last may be 0.
        split_seed: The seed of the split.
        delimiter: The delimiter between the cells of a file.
        fragments: ``largest`` keeps only the largest fragment of each molecule; ``all`` keeps every fragment.
        descriptors: Descriptors to use with the graph of each molecule: ``morgan``, ``maccs``, ``properties``,
            ``rdkit``, columns of numbers, or ``none``.
        blend: ``forest`` averages the network with a random forest on these descriptors; ``none`` turns it off.
        strict: Whether to raise an error if a molecule cannot be read, instead of skipping it.
        data: The dataset to use instead of the recipe's, by name or path.
        settings: Changes to the recipe, such as ``{"model.num_layers": 14}``.
        seed: The seed of weights, shuffling, dropout and partitions.
        out: The run directory. By default ``runs/`` and the name of the recipe; for data in memory, a temporary
            directory that is removed with the result. Name one for a long run, so that ``resume`` can continue it.
        devices: The number of GPUs, or of processes on a machine without GPUs.
        resume: Whether to resume the run in ``out``, which includes its data.
        epochs: The number of epochs.
        precision: ``"32"`` or ``"bf16"``.
        tensorboard: Whether to write TensorBoard events too.
        callbacks: Objects that are called while the run trains; see :class:`Callback`.
        verbose: Whether to print the data report and the progress; by default nothing is printed.
    """
    said: dict[str, Any] = {
        "smiles_column": smiles_column,
        "id_column": id_column,
        "source_column": source_column,
        "target_column": target_column,
        "directed": directed,
        "features": _texts(features),
        "edge_features": _texts(edge_features),
        "drop": _texts(drop),
        "numeric": _texts(numeric),
        "categorical": _texts(categorical),
        "known_labels": known_labels or None,
        "task": task,
        "metric": _texts(metric),
        "positive": _texts(positive),
        "missing": _texts(missing),
        "split_fractions": None if split_fractions is None else ",".join(map(repr, map(float, split_fractions))),
        "split_seed": split_seed,
        "delimiter": delimiter,
        "fragments": fragments,
        "descriptors": _texts(descriptors),
        "blend": blend,
        "strict": strict or None,
    }
    said = {name: value for name, value in said.items() if value is not None}
    changes = as_settings(settings)
    options: dict[str, Any] = {
        "data": data,
        "seed": seed,
        "devices": devices,
        "epochs": epochs,
        "precision": precision,
        "tensorboard": tensorboard,
        "callbacks": (*callbacks, *((run_display(),) if verbose else ())),
    }
    given = {
        name: value
        for name, value in (("molecules", molecules), ("graph", graph), ("graphs", graphs))
        if value is not None
    }
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)}: cannot be combined; expected one of them")
    if not given:
        others = {**said, "target": target, "label": label, "split": split}
        if stray := next((name for name, value in others.items() if value is not None), None):
            raise InputError(f"{stray}: expected molecules, graph or graphs with it")
        with in_python({}):
            return Trained(train_recipe(recipe, settings=changes, out=out, resume=resume, **options))
    if resume:
        raise InputError(
            f"{next(iter(given))}: cannot be combined with resume, since the run has its data; expected out alone"
        )
    if data is not None:
        raise InputError(f"data: cannot be combined with {next(iter(given))}")
    what = next(iter(given))
    if what != "molecules" and target is not None:
        raise InputError(f"target: is for molecules; expected label with {what}")
    if what == "molecules" and label is not None:
        raise InputError("label: is for graph and graphs; expected target with molecules")
    paths = _paths(what, given[what], target if what == "molecules" else label, split)
    if paths is not None:
        return _train(recipe, paths, said, changes, out, None, options, verbose)
    store: Callable[[Path], Stored]
    if what == "molecules":
        store = partial(store_molecules, molecules=molecules, target=target, split=split, smiles_column=smiles_column)
    elif what == "graph":
        names = Names(id_column or "id", source_column or "source", target_column or "target")
        store = partial(store_graph, graph=graph, label=label, split=split, names=names, directed=directed)
    else:
        store = partial(store_graphs, graphs=graphs, label=label, split=split)
    temporary = Path(mkdtemp(prefix="deepergcn-")) if out is None else None
    folder = temporary / "run" if temporary is not None else named_folder(str(out))
    if (folder / "run.json").exists():
        raise InputError(f"{folder}: already has a run; expected resume=True without data, or another out")
    if os.path.lexists(folder / "data"):
        raise InputError(f"{folder / 'data'}: exists already and belongs to no run; expected a new folder for out")
    with ExitStack() as unless_trained:
        unless_trained.callback(_remove, folder, temporary)
        stored = store(folder / "data")
        trained = _train(recipe, stored, said, changes, folder, temporary, options, verbose)
        unless_trained.pop_all()
    return trained


def _train(
    recipe: str | Path | None,
    stored: Stored,
    said: dict[str, Any],
    settings: tuple[str, ...],
    out: str | Path | None,
    temporary: Path | None,
    options: dict[str, Any],
    verbose: bool,
) -> Trained:
    """Read what was written as the program reads files, and train."""
    known = {one.name for one in fields(OwnDataOptions)}
    asked = {name: value for name, value in (said | stored.options).items() if name in known}
    task, reason = _task(stored, said)
    with in_python(stored.names), TemporaryDirectory(prefix="deepergcn-") as cache:
        root = Path(cache) if stored.names else None  # data in memory leaves nothing in the user's cache
        own = OwnDataOptions(**(asked | ({} if task is None else {"task": task})))
        read = read_own_data(
            own, settings, None if recipe is None else str(recipe), root=root, quiet=not verbose, task_reason=reason
        )
        assert read is not None
        name, found = read
        if verbose:
            for topic, text in found.lines():
                say(f"{topic:<9} {text}")
        both = (*found.settings, *settings)
        return Trained(train_recipe(recipe or name, settings=both, out=out, loaded=found.loaded, **options), temporary)


def _task(stored: Stored, said: Mapping[str, Any]) -> tuple[Kind | None, str | None]:
    """The task and the reason for it, inferred from the type of the labels if they are class numbers."""
    labels = {label for label in stored.classes if str(label) not in said.get("missing", ())}
    if said.get("task") is not None or not labels:
        return said.get("task"), "from task" if said.get("task") is not None else None
    if min(labels) < 0:
        raise InputError(
            f"label: holds {min(labels)}; expected classes from 0, missing={min(labels)} if it marks a missing label, "
            "or task"
        )
    return ("multi-class", _CLASSES) if not labels <= {0, 1} else (None, None)


def _paths(what: str, given: Any, label: Any, split: Any) -> Stored | None:
    """The options if files are named; None for data in memory."""
    pair = what == "graph" and isinstance(given, tuple | list) and all(isinstance(one, str | Path) for one in given)
    if not isinstance(given, str | Path) and not pair:
        return None
    texts = _texts(label) if label is None or isinstance(label, str | Sequence) else None
    if texts is None or not (split is None or isinstance(split, str)):
        raise InputError(f"{what}: names files; expected names of columns for the labels and the split")
    if what == "molecules":
        options: dict[str, Any] = {"molecules": str(given), "target": texts}
    elif what == "graphs":
        options = {"graphs": str(given), "label": texts}
    else:
        tables = [str(one) for one in given] if pair else [str(given)]
        options = {"nodes": tables[:1], "label": texts, **({"edges": tables[1:]} if tables[1:] else {})}
    return Stored(options | ({} if split is None else {"split": split}), {})


def as_settings(settings: Settings) -> tuple[str, ...]:
    """The changes to a recipe in the form of ``--set``."""
    if isinstance(settings, str):
        raise InputError(
            f"settings is {settings!r}; expected a list of settings such as model.num_layers=14, or a mapping"
        )
    if isinstance(settings, Mapping):
        return tuple(f"{key}={json.dumps(value, default=_plain)}" for key, value in settings.items())
    return tuple(settings)


def _plain(value: Any) -> Any:
    """A number of numpy, as those of a grid may be."""
    if not hasattr(value, "item"):
        raise InputError(
            f"settings: {value!r} is of type {type(value).__name__}; expected a number, text, list or mapping"
        )
    return value.item()


def _texts(values: Any) -> list[str] | None:
    """One value or several as the texts that stand in a file."""
    if values is None:
        return None
    several = values if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    return [_text(value) for value in several]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return number_name(repr(value)) if isinstance(value, int | float) else str(value)


def _remove(folder: Path, temporary: Path | None) -> None:
    """Remove a temporary folder, or the data of a run that has not begun."""
    if temporary is not None:
        shutil.rmtree(temporary, ignore_errors=True)
    elif not (folder / "run.json").exists():
        shutil.rmtree(folder / "data", ignore_errors=True)
        with suppress(OSError):
            folder.rmdir()
