"""What is found in a user's own files, as settings for a recipe."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection
from deepergcn.runs.dataset import LoadedData
from deepergcn.training.losses import balanced_weight, present_labels

IMBALANCE = 5.0
"""Classes are weighted where one is this many times as frequent as another."""


@dataclass(frozen=True, eq=False)
class OwnData:
    """What was found in a user's own files.

    Attributes:
        settings: Settings ``key=value`` for a recipe, in the form that ``--set`` takes.
        loaded: The dataset, so that training need not read the files again.
    """

    settings: tuple[str, ...]
    loaded: LoadedData


def label_settings(path: str | Path, dataset: Dataset, items: str) -> tuple[dict[str, str], dict[str, Any]]:
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


def _both_classes(y: Tensor) -> bool:
    """Whether some task has both, so that there is a ROC curve."""
    return bool(((y == 0).any(0) & (y == 1).any(0)).any())


def _imbalance(task: Task, y: Tensor) -> float:
    weight = balanced_weight(task, y)
    if task.kind == "multi-class":
        return float(weight.max() / weight.min())
    return float(torch.maximum(weight, 1 / weight).median())


def own_data(data: DataSection, dataset: Dataset, others: dict[str, Any]) -> OwnData:
    """The settings as ``--set`` takes them (JSON is YAML), those of ``data`` first."""
    values = {f"data.{name}": getattr(data, name) for name in ("source", "reader", "nodes", "edges", "options")}
    values = {name: value for name, value in values.items() if value is not None or name == "data.edges"}
    settings = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in (values | others).items())
    return OwnData(tuple(settings), LoadedData(data, dataset.with_metric(data.options.get("metric"))))
