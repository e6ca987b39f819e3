"""Losses that ignore missing labels."""

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from deepergcn.data.task import Task
from deepergcn.errors import InputError


class LossFunction(Protocol):
    """From outputs [items, outputs] and targets, as a dataset holds them, to a scalar; items [items] weight them.

    ``taught`` [items, outputs] is what a teacher says about them: probabilities, or numbers of a regression; NaN where
    it says nothing.
    """

    def __call__(
        self, outputs: Tensor, targets: Tensor, items: Tensor | None = None, taught: Tensor | None = None
    ) -> Tensor: ...


def make_loss(
    task: Task,
    weight: Tensor | None = None,
    *,
    label_smoothing: float = 0.0,
    margin: float | None = None,
    teacher_share: float = 0.0,
) -> LossFunction:
    r"""The loss of the task: the mean over the labels that are present,

    .. math:: \frac{1}{|\{(i, t): y_{it} \text{ known}\}|} \sum_{y_{it} \text{ known}} w_{it}\, \ell(o_{it}, y_{it})

    with the binary cross entropy, the cross entropy or the squared error as :math:`\ell`. A batch without a label has
    the loss 0, with a gradient of 0. The sum is divided by the number of labels and not by their weights, so that the
    loss of a batch is the mean of its halves' losses, each times its number of labels.

    Args:
        task: What is predicted.
        weight: [outputs], or nothing for 1 throughout: the weight of each class of a multi-class task, of the positive
            class of each label (the negative one has 1), or of each number of a regression;
            :func:`balanced_weight` gives one.
        label_smoothing: the share of every label's probability that is spread evenly over all classes (Szegedy et al.,
            2016); for binary labels 1 becomes ``1 - label_smoothing / 2``.
        margin: use :func:`auc_margin` with this margin in place of the binary cross entropy.
        teacher_share: the share of a teacher's word in the target of a known label; 1 leaves the label out (Hinton et
            al., 2015). A missing label is learned from the teacher alone.
    """
    if margin is not None and task.loss != "bce":
        raise InputError(f"loss.name: expected auto for a {task.kind} task; auc-margin is for binary labels")
    if label_smoothing and (task.kind == "regression" or margin is not None):
        raise InputError("loss.label_smoothing: expected 0, since this loss has no classes to spread a label over")
    if weight is not None and (weight.shape != (task.outputs,) or not bool((weight > 0).all())):
        raise InputError(f"loss weight has shape {list(weight.shape)}; expected {task.outputs} numbers above 0")

    weights: dict[tuple[torch.device, torch.dtype], Tensor] = {}  # sent to a GPU once: it waits for what it is sent

    def weight_for(outputs: Tensor) -> Tensor | None:
        key = outputs.device, outputs.dtype
        if weight is not None and key not in weights:
            weights[key] = weight.to(outputs)
        return weights.get(key)

    def cross_entropy(outputs: Tensor, targets: Tensor, taught: Tensor | None) -> Tensor:
        w = weight_for(outputs)
        if taught is None:
            return F.cross_entropy(
                outputs, targets, weight=w, ignore_index=-1, reduction="none", label_smoothing=label_smoothing
            )
        known = F.one_hot(targets.clamp(min=0), task.outputs).to(taught)
        shares = _mixed(known, taught, present_labels(targets)[:, None], teacher_share)
        each = F.cross_entropy(outputs, shares, weight=w, reduction="none", label_smoothing=label_smoothing)
        return torch.where(learned_labels(targets, taught), each, 0.0)

    def loss(outputs: Tensor, targets: Tensor, items: Tensor | None = None, taught: Tensor | None = None) -> Tensor:
        check_labels(task, outputs, targets)
        present, learned = present_labels(targets), learned_labels(targets, taught)
        w = weight_for(outputs)
        if task.kind == "multi-class":
            each = cross_entropy(outputs, targets, taught)
            total = (each if items is None else each * items).sum()
        elif margin is not None:
            if items is not None:
                raise InputError(
                    "training.partitioning is saint, whose weights of nodes auc-margin ignores; expected another"
                )
            return auc_margin(outputs, targets, margin)
        else:
            known = targets.nan_to_num(0.0).to(outputs)
            if taught is not None:
                known = _mixed(known, taught.to(known), present, teacher_share)
            if label_smoothing:
                known = known * (1 - label_smoothing) + label_smoothing / 2
            if task.loss == "bce":
                each = F.binary_cross_entropy_with_logits(outputs, known, pos_weight=w, reduction="none")
            else:
                each = F.mse_loss(outputs, known, reduction="none") * (1.0 if w is None else w)
            each = each if items is None else each * items[:, None]
            total = torch.where(learned, each, 0.0).sum()
        return total / learned.sum().clamp(min=1)

    return loss


def auc_margin(outputs: Tensor, targets: Tensor, margin: float) -> Tensor:
    r"""The AUC-margin loss of the scores :math:`s = \sigma(o)`, averaged over the labels of the task,

    .. math:: \mathrm{Var}_+[s] + \mathrm{Var}_-[s] + \max(0, \text{margin} + \mathrm{E}_-[s] - \mathrm{E}_+[s])^2

    which is the min-max problem of *Yuan et al., Large-scale Robust Deep AUC Maximization*, 2021, solved for its inner
    variables on the batch at hand. A label whose positive or negative class is missing there has no last term.
    """
    scores = outputs.sigmoid()
    counts, means, spreads = [], [], []
    for value in (1, 0):
        is_there = targets == value
        count = is_there.sum(0)
        mean = torch.where(is_there, scores, 0.0).sum(0) / count.clamp(min=1)
        squares = torch.where(is_there, (scores - mean).square(), 0.0)
        counts.append(count)
        means.append(mean)
        spreads.append(squares.sum(0) / count.clamp(min=1))
    apart = (margin + means[1] - means[0]).clamp(min=0).square()
    are_both = (counts[0] > 0) & (counts[1] > 0)
    return (spreads[0] + spreads[1] + torch.where(are_both, apart, 0.0)).mean()


def balanced_weight(task: Task, targets: Tensor) -> Tensor:
    r"""The weight for :func:`make_loss` that lets rare and frequent targets contribute equally.

    With n labels, a class of :math:`n_c` of them, out of C classes, has :math:`n / (C n_c)`; a positive class of
    :math:`n_+` has :math:`n_- / n_+`; a number of a regression has the inverse of its variance. Where that is not
    defined it is 1.
    """
    if task.kind == "multi-class":
        count = torch.bincount(targets[present_labels(targets)], minlength=task.outputs)
        weight = count.sum() / (task.outputs * count)
    elif task.loss == "bce":
        positive, negative = (targets == 1).sum(0), (targets == 0).sum(0)
        weight = negative / positive
    else:
        mean = targets.nanmean(0)
        weight = 1 / (targets - mean).square().nanmean(0)
    return torch.where(weight.isfinite() & (weight > 0), weight, 1.0).float()


def present_labels(targets: Tensor) -> Tensor:
    """Which labels are not missing: neither NaN nor, among classes, -1."""
    return ~targets.isnan() if targets.is_floating_point() else targets >= 0


def learned_labels(targets: Tensor, taught: Tensor | None = None) -> Tensor:
    """Which labels are learned: those that are not missing, and those about which a teacher says something."""
    present = present_labels(targets)
    if taught is None:
        return present
    said = ~taught.isnan()
    return present | (said if targets.is_floating_point() else said.all(1))


def _mixed(known: Tensor, taught: Tensor, present: Tensor, share: float) -> Tensor:
    """The targets of labels and a teacher: its word alone where a label is missing, the label where it says nothing."""
    said = taught.nan_to_num(0.0)
    return torch.where(taught.isnan(), known, torch.where(present, torch.lerp(known, said, share), said))


def check_labels(task: Task, outputs: Tensor, targets: Tensor) -> None:
    """Check that outputs and targets have the shapes and types that the task says."""
    items = outputs.shape[0] if outputs.dim() else 0
    if outputs.shape != (items, task.outputs) or not outputs.is_floating_point():
        raise InputError(
            f"outputs are {outputs.dtype} {list(outputs.shape)}; expected floating-point [items, {task.outputs}]"
        )
    multi_class = task.kind == "multi-class"
    shape = (items,) if multi_class else (items, task.outputs)
    if targets.shape != shape or targets.is_floating_point() == multi_class:
        kind = "integer" if multi_class else "floating-point"
        raise InputError(f"targets are {targets.dtype} {list(targets.shape)}; expected {kind} {list(shape)}")
