r"""Calibrate a network whose loss, by its weights or its form, does not yield probabilities.

With weights :math:`w` the outputs are those of a world in which rare classes are as frequent as others. A scale
:math:`a > 0` and a shift :math:`b` (Platt, 1999) are fitted to the validation part by

.. math:: \min_{a, b}\; \sum_i \ell(a\,o_i + b,\, y_i) + \tfrac12 \log^2 a + \tfrac{\epsilon}{2} |b + \log w|^2

At the minimum the mean probability of a class is its share in that part, but for the last term, which only says where
to stay when the part does not know better.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from deepergcn.data.task import Task
from deepergcn.runs.model.calibration import Calibration
from deepergcn.training.scoring.losses import present_labels

_EPSILON = 0.01
_STEPS = 200


def fit_calibration(task: Task, outputs: Tensor, targets: Tensor, weight: Tensor) -> Calibration | None:
    """The calibration of a task of classes; None if there is no label, or the outputs are not finite.

    Args:
        task: what is predicted.
        outputs: [items, outputs] of the network on items that it was not trained on.
        targets: their labels, as a dataset holds them.
        weight: of the loss, as :func:`deepergcn.training.scoring.losses.balanced_weight` gives it.
    """
    present = present_labels(targets)
    if not bool(present.any()) or not bool(outputs.isfinite().all()):
        return None
    multi_class = task.kind == "multi-class"
    outputs, prior = outputs.detach().double().cpu(), -weight.double().log()
    log_scale = torch.zeros(1 if multi_class else task.outputs, dtype=torch.float64, requires_grad=True)
    shift = prior.clone().requires_grad_()
    known = targets if multi_class else targets.nan_to_num(0.0).double()

    def loss() -> Tensor:
        calibrated = outputs * log_scale.exp() + shift
        if multi_class:
            total = F.cross_entropy(calibrated, known, ignore_index=-1, reduction="sum")
        else:
            each = F.binary_cross_entropy_with_logits(calibrated, known, reduction="none")
            total = torch.where(present, each, 0.0).sum()
        return total + log_scale.square().sum() / 2 + _EPSILON / 2 * (shift - prior).square().sum()

    optimizer = torch.optim.LBFGS([log_scale, shift], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    optimizer.step(closure)
    scale = log_scale.detach().exp()
    if not bool(scale.isfinite().all() and (scale > 0).all() and shift.isfinite().all()):
        return None
    return Calibration(scale=tuple(scale.tolist()), shift=tuple(shift.tolist()))
