"""The scores of the Open Graph Benchmark's evaluators, exact however the items are cut into updates and ranks."""

from typing import cast

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.training.losses import check_labels, present_labels


class Score(Metric):
    """A score that is updated with outputs and targets and computed once over all of them, on every rank.

    Missing labels count nowhere. The score is NaN where there is no label to score.

    Args:
        task: What the outputs [items, outputs] and the targets, in the form that a dataset holds them, mean.
    """

    full_state_update = False
    higher_is_better: bool = True

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task

    @property
    def update_called(self) -> bool:
        """Always true: a part, or a rank's share of it, may be empty, which calls for no warning."""
        return True

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        """Take in the outputs [items, outputs] of a network and the targets of the same items."""
        check_labels(self.task, outputs, targets)
        self._take(outputs.detach().float().to(self.device), targets.detach().to(self.device))

    def compute(self) -> float:
        """The score of all that was taken in, on all ranks."""
        raise NotImplementedError

    def _take(self, outputs: Tensor, targets: Tensor) -> None:
        raise NotImplementedError


class Ranking(Score):
    """The mean over tasks of how well the outputs rank positive before negative items, of tasks that have both."""

    outputs: list[Tensor] | Tensor
    targets: list[Tensor] | Tensor

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        # Flat, so that the gathering of ranks can join them to the empty state of a rank without items.
        self.add_state("outputs", [], dist_reduce_fx="cat")
        self.add_state("targets", [], dist_reduce_fx="cat")

    def _take(self, outputs: Tensor, targets: Tensor) -> None:
        cast(list[Tensor], self.outputs).append(outputs.flatten())
        cast(list[Tensor], self.targets).append(targets.flatten())

    def compute(self) -> float:
        if isinstance(self.outputs, list) and not self.outputs:
            return float("nan")
        outputs = dim_zero_cat(self.outputs).view(-1, self.task.outputs)
        targets = dim_zero_cat(self.targets).view(-1, self.task.outputs)
        scores = [self._score(o, t) for o, t in zip(outputs.T, targets.T, strict=True)]
        defined = [score for score in scores if score is not None]
        return sum(defined) / len(defined) if defined else float("nan")

    def _score(self, outputs: Tensor, targets: Tensor) -> float | None:
        """The score of one task; None where it lacks one of the classes."""
        present = present_labels(targets)
        outputs, positive = outputs[present], targets[present] == 1
        if not bool(positive.any()) or bool(positive.all()):
            return None
        return float("nan") if bool(outputs.isnan().any()) else self._ranked(outputs, positive)

    def _ranked(self, outputs: Tensor, positive: Tensor) -> float:
        raise NotImplementedError


class RocAuc(Ranking):
    """The area under the ROC curve: the share of pairs of a positive and a negative item that are ordered rightly.

    A tie counts half; the share is computed from ranks, in float64.
    """

    def _ranked(self, outputs: Tensor, positive: Tensor) -> float:
        positives = int(positive.sum())
        negatives = len(positive) - positives
        _, value, count = outputs.unique(return_inverse=True, return_counts=True)
        middle_rank = count.cumsum(0).double() - (count.double() - 1) / 2
        rank_sum = float(middle_rank[value[positive]].sum())
        return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


class AveragePrecision(Ranking):
    """The mean over the positive items of the share of positives among the items with at least its output."""

    def _ranked(self, outputs: Tensor, positive: Tensor) -> float:
        values, place = outputs.unique(return_inverse=True)
        count = torch.bincount(place, minlength=len(values))
        hits = torch.bincount(place[positive], minlength=len(values))
        precision = hits.flip(0).cumsum(0).double() / count.flip(0).cumsum(0)
        return float((precision * hits.flip(0)).sum() / hits.sum())


class Mean(Score):
    """The mean over tasks of a value that each item with a label has."""

    total: Tensor
    count: Tensor

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        columns = 1 if task.kind == "multi-class" else task.outputs
        self.add_state("total", torch.zeros(columns, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros(columns, dtype=torch.int64), dist_reduce_fx="sum")

    def _take(self, outputs: Tensor, targets: Tensor) -> None:
        present = present_labels(targets)
        values = torch.where(present, self._values(outputs, targets).double(), 0.0)
        self.total += values.view(-1, len(self.total)).sum(0)
        self.count += present.view(-1, len(self.count)).sum(0)

    def compute(self) -> float:
        labelled = self.count > 0
        means = self._finish(self.total[labelled] / self.count[labelled])
        return float(means.mean())

    def _values(self, outputs: Tensor, targets: Tensor) -> Tensor:
        raise NotImplementedError

    def _finish(self, means: Tensor) -> Tensor:
        return means


class Accuracy(Mean):
    """The share of items whose class has the highest output; of two classes, the second where the output is above 0."""

    def _values(self, outputs: Tensor, targets: Tensor) -> Tensor:
        if self.task.kind == "multi-class":
            return outputs.argmax(1) == targets
        return (outputs > 0) == (targets == 1)


class MeanAbsoluteError(Mean):
    """The mean over items of the absolute difference."""

    higher_is_better = False

    def _values(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs.double() - targets.double()).abs()


class RootMeanSquareError(Mean):
    """The root of the mean over items of the squared difference, averaged over tasks as OGB does."""

    higher_is_better = False

    def _values(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs.double() - targets.double()).square()

    def _finish(self, means: Tensor) -> Tensor:
        return means.sqrt()


_SCORES: dict[str, type[Score]] = {
    "rocauc": RocAuc,
    "ap": AveragePrecision,
    "accuracy": Accuracy,
    "mae": MeanAbsoluteError,
    "rmse": RootMeanSquareError,
}


def make_metric(task: Task) -> Score:
    """The score that the task names: ``update(outputs, targets)``, ``compute() -> float``, ``reset()``.

    Its ``higher_is_better`` says which of two scores is the better one.
    """
    if task.metric not in _SCORES:
        raise InputError(f"metric is {task.metric!r}; expected one of {', '.join(_SCORES)}")
    return _SCORES[task.metric](task)
