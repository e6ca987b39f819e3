"""The task: what is predicted, and how it is scored."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from deepergcn.errors import InputError

Level = Literal["node", "graph", "link"]
Kind = Literal["binary", "multi-label", "multi-class", "regression"]
Metric = Literal[
    "rocauc",
    "ap",
    "accuracy",
    "balanced-accuracy",
    "mcc",
    "f1",
    "rmse",
    "mae",
    "r2",
    "spearman",
    "hits@20",
    "hits@50",
    "hits@100",
    "mrr",
]
Loss = Literal["bce", "cross-entropy", "mse"]

METRICS: dict[Kind, tuple[Metric, ...]] = {
    "binary": ("rocauc", "ap", "accuracy", "balanced-accuracy", "mcc", "f1"),
    "multi-label": ("rocauc", "ap", "accuracy", "balanced-accuracy", "mcc", "f1"),
    "multi-class": ("accuracy", "balanced-accuracy", "mcc", "f1"),
    "regression": ("rmse", "mae", "r2", "spearman"),
}
"""The metrics that fit each kind of task on nodes or graphs; the first is its default."""

LINK_METRICS: tuple[Metric, ...] = ("rocauc", "ap", "hits@20", "hits@50", "hits@100", "mrr")
"""The metrics of a task on links; the first is its default."""

_LOSSES: dict[Kind, Loss] = {
    "binary": "bce",
    "multi-label": "bce",
    "multi-class": "cross-entropy",
    "regression": "mse",
}


@dataclass(frozen=True)
class Task:
    """A task: one prediction for every node, for every graph, or for every pair of nodes.

    Args:
        level: ``"node"``, ``"graph"``, or ``"link"``: whether there is a link between two nodes, a binary task.
        kind: ``"binary"`` (one yes/no), ``"multi-label"`` (several of them), ``"multi-class"`` (one of
            several) or ``"regression"`` (one or several numbers).
        outputs: the number of outputs of the network: the number of labels or targets, or of classes in a
            multi-class task.
        metric: One of :data:`METRICS` for this kind, or of :data:`LINK_METRICS` for links.
    """

    level: Level
    kind: Kind
    outputs: int
    metric: Metric

    def __post_init__(self) -> None:
        for field, value, choices in (
            ("level", self.level, get_args(Level)),
            ("kind", self.kind, get_args(Kind)),
        ):
            if value not in choices:
                raise InputError(f"task {field} is {value!r}; expected one of {', '.join(choices)}")
        if self.level == "link" and self.kind != "binary":
            raise InputError(f"task kind is {self.kind!r}; expected binary for a task on links")
        if self.metric not in self.metrics:
            what = "task on links" if self.level == "link" else f"{self.kind} task"
            raise InputError(f"task metric is {self.metric!r}; expected {' or '.join(self.metrics)} for a {what}")
        if type(self.outputs) is not int:
            raise InputError(f"task outputs is {self.outputs!r}; expected an integer")
        least = 2 if self.kind == "multi-class" else 1
        if self.outputs < least or (self.kind == "binary" and self.outputs != 1):
            expected = "1" if self.kind == "binary" else f"at least {least}"
            raise InputError(f"task outputs is {self.outputs}; expected {expected} for a {self.kind} task")

    def with_metric(self, metric: Metric | None) -> "Task":
        """The task with another metric; unchanged if None."""
        return self if metric is None else replace(self, metric=metric)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that fit the task."""
        return LINK_METRICS if self.level == "link" else METRICS[self.kind]

    @property
    def loss(self) -> Loss:
        """The training loss, determined by the kind."""
        return _LOSSES[self.kind]
