"""Fit a random forest by scikit-learn to the descriptors of molecules, as arrays."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.descriptors import descriptor_values
from deepergcn.data.molecules.descriptor_names import columns_of
from deepergcn.data.seeds import derive
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.recipes.schema import ForestSection
from deepergcn.runs.model.forest import Forest, filled
from deepergcn.training.scoring.calibrate import fit_calibration
from deepergcn.training.scoring.losses import present_labels

Array = npt.NDArray[Any]

_TREES = 16  # that are grown before it is asked whether to go on


def check_forest(section: ForestSection, dataset: Dataset, names: Sequence[str]) -> None:
    """Check that these settings of a forest fit the task and the descriptors of a dataset, which have these names."""
    if find_spec("sklearn") is None:
        raise InputError(f"{section.name}: a forest needs scikit-learn: pip install 'deepergcn[train]'")
    if dataset.fingerprints is None and dataset.descriptors is None:
        raise InputError(f"{section.name}: a forest needs descriptors of molecules; expected data.descriptors")
    kind = dataset.task.kind
    if kind == "regression" and section.criterion != "gini":
        raise InputError(
            f"{section.name}.criterion is {section.criterion}, a criterion for classes; expected the default, gini, "
            "for a regression, whose trees minimize squared errors"
        )
    if kind == "regression" and section.class_weight != 1:
        raise InputError(
            f"{section.name}.class_weight is {section.class_weight}; expected 1 for a regression, without classes"
        )
    if kind == "multi-class" and section.class_weight not in (1, "balanced"):
        raise InputError(
            f"{section.name}.class_weight is {section.class_weight:g}, the weight of a positive class; expected 1 or "
            "balanced for a multi-class task"
        )
    if section.bits and dataset.fingerprints is None:
        raise InputError(f"{section.name}.bits: applies to counts; expected morgan or maccs in data.descriptors")
    _columns(section, dataset, names)


def fit_forest(
    dataset: Dataset,
    section: ForestSection,
    seed: int,
    names: Sequence[str] = (),
    check: Callable[[], None] = lambda: None,
    items: Tensor | None = None,
) -> Forest:
    """Random forests on the descriptors of the train part, one for every target, or one for all classes.

    Args:
        dataset: molecules with descriptors.
        section: the settings of the forest.
        seed: of its draws.
        names: of the descriptors of the dataset, by which ``section.descriptors`` selects some.
        check: is called after every few trees, and may raise.
        items: what it learns from; the train part if None.

    A forest that learns from some descriptors, or from bits, predicts from all descriptors and counts: its trees ask
    for no others, and a count exceeds 0.5 where its bit does.
    """
    items = dataset.split["train"] if items is None else items
    values = descriptor_values(dataset, items)
    assert values is not None
    fill = values.double().nanmean(0).nan_to_num(0.0).float()
    known = filled(dataset, items, fill)
    if section.bits and dataset.fingerprints is not None:
        counts = known[:, : dataset.fingerprints.shape[1]]
        np.minimum(counts, 1, out=counts)
    columns = _columns(section, dataset, names)
    known = known if columns is None else np.ascontiguousarray(known[:, columns])
    y = dataset.y[items]
    targets = y[:, None] if dataset.task.kind == "multi-class" else y
    trees, roots, weights, start = [], [], [], 0
    for number in range(targets.shape[1]):
        labels = targets[:, number]
        weight = class_weights(dataset.task, labels, section.class_weight)
        own_seed = derive(seed, "forest", number) % (1 << 31)
        grown = _grow(dataset.task, known, labels, section, weight, own_seed, check)
        sizes = [len(tree["feature"]) for tree in grown]
        first = start + np.concatenate(([0], np.cumsum(sizes)))
        for tree, place in zip(grown, first[:-1], strict=True):
            inner = tree["feature"] >= 0
            tree["right"] = np.where(inner, tree["right"] + place, 0)
            if columns is not None:
                tree["feature"] = np.where(inner, columns[tree["feature"]], -1)
        trees += grown
        roots.append(first[:-1])
        weights.append(weight)
        start = int(first[-1])
    whole = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
    return Forest(
        feature=torch.from_numpy(whole["feature"].astype(np.int32)),
        threshold=torch.from_numpy(whole["threshold"]),
        right=torch.from_numpy(whole["right"].astype(np.int32)),
        value=torch.from_numpy(whole["value"]),
        roots=torch.from_numpy(np.stack(roots)),
        fill=fill,
        class_weight=torch.from_numpy(np.stack(weights)),
    )


def calibrated(forest: Forest, dataset: Dataset) -> Forest:
    """The forest with its probabilities calibrated on the validation part, where it was grown with class weights.

    Undoing the weights alone leaves probabilities too low: trees whose leaves hold few molecules stay too sure. The
    order of items by the probability of a positive class does not change.
    """
    if dataset.task.kind == "regression" or bool((forest.class_weight == 1).all()):
        return forest
    items = dataset.split["valid"]
    found = forest.log_odds(dataset, items)
    calibration = fit_calibration(dataset.task, found, dataset.y[items], torch.ones(dataset.task.outputs))
    return replace(forest, calibration=calibration)


def class_weights(task: Task, labels: Tensor, asked: float | str) -> npt.NDArray[np.float64]:
    """The weight of every class of a multi-class task, else that of the positive class, beside 1 of the negative.

    ``balanced`` weighs a class inversely to its number of labels; one without labels has weight 1.
    """
    width = _width(task)
    if asked != "balanced":
        return np.full(width, float(asked) if task.kind in ("binary", "multi-label") else 1.0)
    numbers = torch.bincount(labels[present_labels(labels)].long(), minlength=max(width, 2)).double().numpy()
    if width == 1:
        return np.array([numbers[0] / numbers[1] if numbers.all() else 1.0])
    return np.where(numbers > 0, numbers.sum() / (np.count_nonzero(numbers) * np.maximum(numbers, 1)), 1.0)


def _columns(section: ForestSection, dataset: Dataset, names: Sequence[str]) -> npt.NDArray[np.int64] | None:
    """The columns that the forest learns from, among all descriptors; None if all of them."""
    if section.descriptors is None:
        return None
    for name in section.descriptors:
        if name not in names:
            raise InputError(
                f"{section.name}.descriptors has {name}; expected some of data.descriptors: {', '.join(names)}"
            )
    if not section.descriptors or len(set(section.descriptors)) < len(section.descriptors):
        raise InputError(
            f"{section.name}.descriptors: expected at least one descriptor, each once, or no such key for all"
        )
    columns = columns_of(names)
    width = sum(values.shape[1] for values in (dataset.fingerprints, dataset.descriptors) if values is not None)
    if sum(map(len, columns.values())) != width:
        raise InputError(
            f"{section.name}.descriptors: {dataset.name} has {width} descriptors; expected those of {', '.join(names)}"
        )
    return np.concatenate([columns[name] for name in section.descriptors])


def _width(task: Task) -> int:
    return task.outputs if task.kind == "multi-class" else 1


def _grow(
    task: Task,
    values: npt.NDArray[np.float32],
    targets: Tensor,
    section: ForestSection,
    weight: Array,
    seed: int,
    check: Callable[[], None],
) -> list[dict[str, Array]]:
    """The trees of one target, each with nodes that are numbered from 0."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    there = present_labels(targets).numpy()
    width = _width(task)
    if not there.any():
        unknown = 0.0 if task.kind == "regression" else 0.5
        leaf = {"feature": np.array([-1]), "threshold": np.zeros(1, np.float32), "right": np.zeros(1, np.int64)}
        return [leaf | {"value": np.full((1, width), unknown)} for _ in range(section.trees)]
    options: dict[str, Any] = {
        "min_samples_leaf": section.min_leaf,
        "n_jobs": torch.get_num_threads(),
        "random_state": seed,
        "warm_start": True,  # adds the trees that one call would have grown
    }
    known, labels = values if there.all() else values[there], targets.numpy()[there]
    if task.kind == "regression":
        forest, wanted = RandomForestRegressor(max_features=1 / 3, **options), labels.astype(np.float64)
    else:
        wanted = labels.astype(np.int64)
        of_class = weight if width > 1 else np.concatenate(([1.0], weight))
        weights = {code: of_class[code] for code in np.unique(wanted).tolist()}
        options |= {"criterion": section.criterion, "class_weight": None if (weight == 1).all() else weights}
        forest = RandomForestClassifier(max_features="sqrt", **options)
    for trees in (*range(_TREES, section.trees, _TREES), section.trees):
        forest.set_params(n_estimators=trees).fit(known, wanted)
        check()
    codes = None if task.kind == "regression" else forest.classes_
    return [_arrays(tree.tree_, codes, width) for tree in forest.estimators_]


def _arrays(tree: Any, codes: npt.NDArray[np.int64] | None, width: int) -> dict[str, Array]:
    inner = tree.children_left >= 0
    assert (tree.children_left[inner] == inner.nonzero()[0] + 1).all()
    threshold = tree.threshold.astype(np.float32)
    above = threshold > tree.threshold  # descriptors are float32: the next number below decides the same
    threshold[above] = np.nextafter(threshold[above], np.float32(-np.inf))
    if codes is None:
        value = tree.value[:, 0, :]
    else:
        shares = tree.value[:, 0, :] / tree.value[:, 0, :].sum(1, keepdims=True)
        every = np.zeros((len(shares), max(width, 2)))
        every[:, codes] = shares
        value = every if width > 1 else every[:, 1:]
    return {
        "feature": np.where(inner, tree.feature, -1),
        "threshold": np.where(inner, threshold, np.float32(0.0)),
        "right": tree.children_right.astype(np.int64),
        "value": np.ascontiguousarray(value, dtype=np.float64),
    }
