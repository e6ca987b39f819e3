"""Losses that pass over missing labels."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from deepergcn.data.task import Task
from deepergcn.errors import InputError

LossFunction = Callable[[Tensor, Tensor], Tensor]
"""From outputs [items, outputs] and targets, as a dataset holds them, to a scalar."""


def make_loss(task: Task, weight: Tensor | None = None) -> LossFunction:
    r"""The loss of the task: the mean over the labels that are there,

    .. math:: \frac{1}{|\{(i, t): y_{it} \text{ known}\}|} \sum_{y_{it} \text{ known}} w_{it}\, \ell(o_{it}, y_{it})

    with the binary cross entropy, the cross entropy or the squared error as :math:`\ell`. A batch without a label has
    the loss 0, with a gradient of 0. The sum is divided by the number of labels and not by their weights, so that the
    loss of a batch is the mean of its halves' losses, each times its number of labels.

    Args:
        task: What is predicted.
        weight: [outputs], or nothing for 1 throughout: the weight of each class of a multi-class task, of the positive
            class of each label (the negative one has 1), or of each number of a regression;
            :func:`balanced_weight` gives one.
    """
    if weight is not None and (weight.shape != (task.outputs,) or not bool((weight > 0).all())):
        raise InputError(f"loss weight has shape {list(weight.shape)}; expected {task.outputs} numbers above 0")

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        check_labels(task, outputs, targets)
        present = present_labels(targets)
        w = None if weight is None else weight.to(outputs)
        if task.kind == "multi-class":
            total = F.cross_entropy(outputs, targets, weight=w, ignore_index=-1, reduction="sum")
        else:
            known = targets.nan_to_num(0.0).to(outputs)
            if task.loss == "bce":
                each = F.binary_cross_entropy_with_logits(outputs, known, pos_weight=w, reduction="none")
            else:
                each = F.mse_loss(outputs, known, reduction="none") * (1.0 if w is None else w)
            total = torch.where(present, each, 0.0).sum()
        return total / present.sum().clamp(min=1)

    return loss


def balanced_weight(task: Task, targets: Tensor) -> Tensor:
    r"""The weight for :func:`make_loss` by which what is rare in these targets counts as much as what is frequent.

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
