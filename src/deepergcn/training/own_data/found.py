"""What is found in a user's own files, as settings for a recipe."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.tables.columns import Columns
from deepergcn.data.task import METRICS, Metric, Task
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection
from deepergcn.runs.data_report import DataReport
from deepergcn.runs.dataset import LoadedData
from deepergcn.training.own_data.choices import Choices
from deepergcn.training.scoring.losses import balanced_weight, present_labels

IMBALANCE = 5.0
"""Classes are weighted where one is this many times as frequent as another."""

_FEWEST = 10  # items with a label, so that every part of a random split has one


@dataclass(frozen=True, eq=False)
class OwnData:
    """What was found in a user's own files.

    Attributes:
        settings: Settings ``key=value`` for a recipe, in the form that ``--set`` takes.
        loaded: The dataset, so that training need not read the files again, and the report on it.
    """

    settings: tuple[str, ...]
    loaded: LoadedData

    @property
    def report(self) -> DataReport:
        """What was found in tables or molecules."""
        assert self.loaded.report is not None
        return self.loaded.report

    def lines(self) -> list[tuple[str, str]]:
        """What was found, as readable pairs of a topic and a text; empty without a report."""
        return [] if self.loaded.report is None else self.loaded.report.lines()


@dataclass(frozen=True)
class LabelSettings:
    """What follows from the labels: the metrics with the reason for them, and settings for a recipe."""

    metrics: tuple[Metric, ...]
    reason: str
    settings: dict[str, Any]

    @property
    def balance(self) -> bool:
        """Whether classes are weighted."""
        return bool(self.settings["loss.balance"])


def label_settings(
    table: Columns,
    dataset: Dataset,
    choices: Choices,
    items: str,
    read_fold: Callable[[int], Dataset] | None = None,
) -> LabelSettings:
    """The metrics and settings for these labels; an error where they cannot be trained on, or scored.

    Args:
        table: The table of the labels.
        dataset: The dataset, in a cross-validation that of the first fold.
        choices: What the user has chosen.
        items: What the labels are of, such as molecules.
        read_fold: Reads the dataset of another fold, all of which are checked.
    """
    task = dataset.task
    metrics, reason = choices.metric_names(task.kind)
    for number in range(choices.folds or 1):
        fold = dataset if number == 0 or read_fold is None else read_fold(number)
        _check_parts(table, fold, choices, items, metrics, "" if choices.folds is None else f" of fold {number}")
    several = task.kind == "regression" and task.outputs > 1
    settings: dict[str, Any] = {
        "loss.balance": task.kind == "regression" or _imbalance(task, dataset.y[dataset.split["train"]]) >= IMBALANCE,
        **({"evaluation.metrics": list(metrics)} if len(metrics) > 1 else {}),
        **({"evaluation.scaled": True} if several else {}),
    }
    if several:
        reason += "; errors of several targets are averaged in units of their standard deviation"
    return LabelSettings(metrics, reason, settings)


def _check_parts(
    table: Columns, dataset: Dataset, choices: Choices, items: str, metrics: Sequence[Metric], of_fold: str
) -> None:
    """Check that the train part can be learned from, and that valid and test can be scored by these metrics."""
    y = {part: dataset.y[dataset.split[part]] for part in PARTS}
    without_test = choices.fractions is not None and not choices.fractions[2] and not of_fold  # as given
    empty = {"test"} if without_test else set()
    for part in PARTS:
        if part not in empty and not bool(present_labels(y[part]).any()):
            raise InputError(f"{table.path}: {_empty_part(f'{part} part{of_fold}', part, dataset, choices, items)}")
    kind, another = dataset.task.kind, "another --split or --split-seed" + (", or fewer --folds" if of_fold else "")
    if kind != "regression" and not _has_both(y["train"]):
        raise InputError(f"{table.path}: the train part{of_fold} has one class only; expected {another}")
    for metric in metrics:
        for part in (part for part in ("valid", "test") if part not in empty):
            if why := _undefined(metric, y[part]):
                others = [other for other in METRICS[kind] if not _undefined(other, y[part])]
                raise InputError(
                    f"{table.path}: {metric} cannot be computed on the {part} part{of_fold}, where {why}; expected "
                    f"another --split, --split-fractions or --split-seed{', fewer --folds' if of_fold else ''}, or "
                    f"--metric {' or '.join(others)}"
                )


def _empty_part(name: str, part: str, dataset: Dataset, choices: Choices, items: str) -> str:
    count = int(present_labels(dataset.y).any(-1).sum() if dataset.y.dim() > 1 else present_labels(dataset.y).sum())
    if count < _FEWEST:
        return f"has {count} {items} with a label, which leaves none for {part}; expected at least {_FEWEST}"
    why = ""
    if choices.split == "scaffold":
        why = ", since molecules of one scaffold stay together and those without rings count as one"
    return f"the {name} has no {items} with a label{why}; expected another --split or --split-fractions"


def own_data(data: DataSection, dataset: Dataset, others: dict[str, Any], report: DataReport | None = None) -> OwnData:
    """The settings as ``--set`` takes them (JSON is YAML), those of ``data`` first."""
    section = data.model_dump(mode="json")
    names = ("source", "reader", "nodes", "edges", "tables", "options", "descriptors")
    values = {f"data.{name}": section[name] for name in names}
    values = {name: value for name, value in values.items() if value is not None or name == "data.edges"}
    settings = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in (values | others).items())
    return OwnData(tuple(settings), LoadedData(data, dataset.with_metric(data.options.get("metric")), report))


def _undefined(metric: Metric, y: Tensor) -> str | None:
    """Why a metric is not defined on these labels, if it is not."""
    if metric in ("rocauc", "ap") and not _has_both(y):
        return "no label has both classes"
    if metric in ("r2", "spearman") and not bool((_highest(y) > -_highest(-y)).any()):
        return "all labels are equal"
    return None


def _highest(y: Tensor) -> Tensor:
    return y.nan_to_num(nan=-torch.inf).amax(0)


def _has_both(y: Tensor) -> bool:
    """Whether any label has both classes."""
    if not y.is_floating_point():
        return len(y[present_labels(y)].unique()) > 1
    return bool(((y == 0).any(0) & (y == 1).any(0)).any())


def _imbalance(task: Task, y: Tensor) -> float:
    weight = balanced_weight(task, y)
    if task.kind == "multi-class":
        return float(weight.max() / weight.min())
    return float(torch.maximum(weight, 1 / weight).median())
