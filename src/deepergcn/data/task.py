"""The task: what is predicted, and how it is scored."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from deepergcn.errors import InputError

Level = Literal["node", "graph"]
Kind = Literal["binary", "multi-label", "multi-class", "regression"]
Metric = Literal["rocauc", "ap", "accuracy", "balanced-accuracy", "mcc", "f1", "rmse", "mae", "r2", "spearman"]
Loss = Literal["bce", "cross-entropy", "mse"]

METRICS: dict[Kind, tuple[Metric, ...]] = {
    "binary": ("rocauc", "ap", "accuracy", "balanced-accuracy", "mcc", "f1"),
    "multi-label": ("rocauc", "ap", "accuracy", "balanced-accuracy", "mcc", "f1"),
    "multi-class": ("accuracy", "balanced-accuracy", "mcc", "f1"),
    "regression": ("rmse", "mae", "r2", "spearman"),
}
"""The metrics of each kind of task; the first is the default."""

_LOSSES: dict[Kind, Loss] = {
    "binary": "bce",
    "multi-label": "bce",
    "multi-class": "cross-entropy",
    "regression": "mse",
}


@dataclass(frozen=True)
class Task:
    """A task: one prediction per node or per graph.

    Args:
        level: ``"node"`` or ``"graph"``.
        kind: ``"binary"`` (one yes/no), ``"multi-label"`` (several of them), ``"multi-class"`` (one of
            several) or ``"regression"`` (one or several numbers).
        outputs: the number of outputs of the network: the number of labels or targets, or of classes in a
            multi-class task.
        metric: One of :data:`METRICS` for this kind.
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
        if self.metric not in METRICS[self.kind]:
            raise InputError(
                f"task metric is {self.metric!r}; a {self.kind} task has {' or '.join(METRICS[self.kind])}"
            )
        if type(self.outputs) is not int:
            raise InputError(f"task outputs is {self.outputs!r}; expected an integer")
        least = 2 if self.kind == "multi-class" else 1
        if self.outputs < least or (self.kind == "binary" and self.outputs != 1):
            expected = "1" if self.kind == "binary" else f"at least {least}"
            raise InputError(f"task outputs is {self.outputs}; a {self.kind} task has {expected}")

    def with_metric(self, metric: Metric | None) -> "Task":
        """The task with another metric; unchanged if None."""
        return self if metric is None else replace(self, metric=metric)

    @property
    def loss(self) -> Loss:
        """The training loss, determined by the kind."""
        return _LOSSES[self.kind]
