"""The scores of the Open Graph Benchmark's evaluators, exact however the items are cut into updates and ranks."""

from typing import cast

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.training.scoring.losses import check_labels, present_labels


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
        """Add the outputs [items, outputs] of a network and the targets of the same items."""
        check_labels(self.task, outputs, targets)
        self._take(outputs.detach().float().to(self.device), targets.detach().to(self.device))

    def compute(self) -> float:
        """The score of all items that were added, on all ranks."""
        raise NotImplementedError

    def _take(self, outputs: Tensor, targets: Tensor) -> None:
        raise NotImplementedError


class Gathered(Score):
    """The mean over tasks of a score of all outputs and labels of a task, of those tasks for which it is defined."""

    outputs: list[Tensor] | Tensor
    targets: list[Tensor] | Tensor

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        # Flat, so that the gathering of ranks can join them to the empty state of a rank without items.
        self.add_state("outputs", [], dist_reduce_fx="cat")
        self.add_state("targets", [], dist_reduce_fx="cat")

    def _take(self, outputs: Tensor, targets: Tensor) -> None:
        known = targets.float() if targets.is_floating_point() else targets.float().masked_fill(targets < 0, torch.nan)
        cast(list[Tensor], self.outputs).append(outputs.flatten())
        cast(list[Tensor], self.targets).append(known.flatten())

    def compute(self) -> float:
        if isinstance(self.outputs, list) and not self.outputs:
            return float("nan")
        outputs = dim_zero_cat(self.outputs).view(-1, self.task.outputs)
        if not len(outputs):
            return float("nan")
        targets = dim_zero_cat(self.targets).view(len(outputs), -1)
        columns = [outputs] if self.task.kind == "multi-class" else list(outputs.T)
        scores = [self._score(o, t) for o, t in zip(columns, targets.T, strict=True)]
        defined = [score for score in scores if score is not None]
        return sum(defined) / len(defined) if defined else float("nan")

    def _score(self, outputs: Tensor, targets: Tensor) -> float | None:
        """The score of one task; None where it is not defined."""
        present = present_labels(targets)
        outputs, targets = outputs[present], targets[present]
        if not len(targets):
            return None
        return float("nan") if bool(outputs.isnan().any()) else self._defined(outputs, targets)

    def _defined(self, outputs: Tensor, targets: Tensor) -> float | None:
        raise NotImplementedError


class Ranking(Gathered):
    """How well the outputs rank positive before negative items, of tasks that have both."""

    def _defined(self, outputs: Tensor, targets: Tensor) -> float | None:
        positive = targets == 1
        if not bool(positive.any()) or bool(positive.all()):
            return None
        return self._ranked(outputs, positive)

    def _ranked(self, outputs: Tensor, positive: Tensor) -> float:
        raise NotImplementedError


class RocAuc(Ranking):
    """The area under the ROC curve: the share of pairs of a positive and a negative item that are ordered correctly.

    A tie counts half; the share is computed from ranks, in float64.
    """

    def _ranked(self, outputs: Tensor, positive: Tensor) -> float:
        positives = int(positive.sum())
        negatives = len(positive) - positives
        rank_sum = float(_ranks(outputs)[positive].sum())
        return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


class AveragePrecision(Ranking):
    """The mean over the positive items of the share of positives among the items with at least its output."""

    def _ranked(self, outputs: Tensor, positive: Tensor) -> float:
        values, place = outputs.unique(return_inverse=True)
        count = torch.bincount(place, minlength=len(values))
        hits = torch.bincount(place[positive], minlength=len(values))
        precision = hits.flip(0).cumsum(0).double() / count.flip(0).cumsum(0)
        return float((precision * hits.flip(0)).sum() / hits.sum())


class Hits(Ranking):
    """Hits@K: the share of positive items whose output is above that of the K-th best negative one."""

    def _ranked(self, outputs: Tensor, positive: Tensor) -> float:
        k, negative = int(self.task.metric.removeprefix("hits@")), outputs[~positive]
        if len(negative) < k:
            raise InputError(f"metric hits@{k}: there are {len(negative)} pairs without a link; expected at least {k}")
        return float((outputs[positive] > negative.topk(k).values[-1]).double().mean())


class ReciprocalRank(Ranking):
    """The mean over positive items of 1 / rank, the rank among the item itself and all negative ones.

    Where outputs are equal, the rank is the mean of the best and the worst.
    """

    def _ranked(self, outputs: Tensor, positive: Tensor) -> float:
        negative = outputs[~positive].sort().values
        below = torch.searchsorted(negative, outputs[positive])
        not_above = torch.searchsorted(negative, outputs[positive], right=True)
        rank = 1 + (len(negative) - not_above) + (not_above - below).double() / 2
        return float((1 / rank).mean())


class Decisions(Gathered):
    """A score of the predicted classes: those with the highest output, or with an output above 0."""

    def _defined(self, outputs: Tensor, targets: Tensor) -> float | None:
        classes = max(self.task.outputs, 2) if self.task.kind == "multi-class" else 2
        decided = outputs.argmax(1) if outputs.dim() == 2 else (outputs > 0).long()
        pairs = torch.bincount(targets.long() * classes + decided, minlength=classes * classes)
        return self._counted(pairs.view(classes, classes).double())

    def _counted(self, counts: Tensor) -> float | None:
        """The score of the counts [true class, predicted class]."""
        raise NotImplementedError


class BalancedAccuracy(Decisions):
    """The mean over the classes that are there of the share of their items that are classified correctly."""

    def _counted(self, counts: Tensor) -> float | None:
        items = counts.sum(1)
        return float((counts.diagonal() / items)[items > 0].mean())


class MatthewsCorrelation(Decisions):
    """The correlation of true and predicted classes; 0 where one of the two is the same for all items."""

    def _counted(self, counts: Tensor) -> float | None:
        true, decided, items = counts.sum(1), counts.sum(0), counts.sum()
        covariance = items * counts.diagonal().sum() - true @ decided
        spread = ((items**2 - true @ true) * (items**2 - decided @ decided)).sqrt()
        return float(covariance / spread) if spread > 0 else 0.0


class F1(Decisions):
    """The harmonic mean of precision and recall: of the positive class of two, else averaged over the classes."""

    def _counted(self, counts: Tensor) -> float | None:
        hits, marked = counts.diagonal(), counts.sum(0) + counts.sum(1)
        if self.task.kind != "multi-class":
            hits, marked = hits[1:], marked[1:]
        there = marked > 0
        return float((2 * hits[there] / marked[there]).mean()) if bool(there.any()) else None


class R2(Gathered):
    """The share of the variance of the targets that the outputs explain; not defined for targets that are all equal."""

    def _defined(self, outputs: Tensor, targets: Tensor) -> float | None:
        outputs, targets = outputs.double(), targets.double()
        variance = (targets - targets.mean()).square().sum()
        return float(1 - (outputs - targets).square().sum() / variance) if variance > 0 else None


class Spearman(Gathered):
    """The correlation of the ranks of outputs and targets; not defined where either are all equal."""

    def _defined(self, outputs: Tensor, targets: Tensor) -> float | None:
        ranks = torch.stack((_ranks(outputs), _ranks(targets)))
        centred = ranks - ranks.mean(1, keepdim=True)
        spread = centred.square().sum(1).prod().sqrt()
        return float(centred.prod(0).sum() / spread) if spread > 0 else None


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


class Difference(Mean):
    """An error of numbers; over several tasks their mean as OGB does, in the units of ``scale``.

    Args:
        task: As for :class:`Score`.
        scale: [outputs], what the errors of each task are divided by; nothing for 1 throughout.
    """

    higher_is_better = False

    def __init__(self, task: Task, scale: Tensor | None = None) -> None:
        super().__init__(task)
        self.scale = torch.ones(task.outputs) if scale is None else scale

    def _scaled(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs.double() - targets.double()) / self.scale.to(outputs.device)


class MeanAbsoluteError(Difference):
    """The mean over items of the absolute difference."""

    def _values(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self._scaled(outputs, targets).abs()


class RootMeanSquareError(Difference):
    """The root of the mean over items of the squared difference."""

    def _values(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self._scaled(outputs, targets).square()

    def _finish(self, means: Tensor) -> Tensor:
        return means.sqrt()


_SCORES: dict[str, type[Score]] = {
    "rocauc": RocAuc,
    "ap": AveragePrecision,
    "hits@20": Hits,
    "hits@50": Hits,
    "hits@100": Hits,
    "mrr": ReciprocalRank,
    "accuracy": Accuracy,
    "balanced-accuracy": BalancedAccuracy,
    "mcc": MatthewsCorrelation,
    "f1": F1,
    "mae": MeanAbsoluteError,
    "rmse": RootMeanSquareError,
    "r2": R2,
    "spearman": Spearman,
}


def make_metric(task: Task, scale: Tensor | None = None) -> Score:
    """The score that the task names: ``update(outputs, targets)``, ``compute() -> float``, ``reset()``.

    Its ``higher_is_better`` says which of two scores is the better one. With ``scale`` [outputs], errors of numbers are
    in its units, so that those of different targets can be averaged.
    """
    if task.metric not in _SCORES:
        raise InputError(f"metric is {task.metric!r}; expected one of {', '.join(_SCORES)}")
    score = _SCORES[task.metric]
    return score(task, scale) if issubclass(score, Difference) else score(task)


def _ranks(values: Tensor) -> Tensor:
    """The rank of every value from 1 in float64, the middle one of those that are equal."""
    _, place, count = values.unique(return_inverse=True, return_counts=True)
    middle_rank: Tensor = count.cumsum(0).double() - (count.double() - 1) / 2
    return middle_rank[place]
