"""Adam, and its learning rate as a function of the step, so that it needs no state."""

import math

from torch import nn

from deepergcn.recipes.schema import OptimizerSection
from deepergcn.training.adam import FlatAdam


def make_optimizer(model: nn.Module, section: OptimizerSection) -> FlatAdam:
    """The optimizer of a recipe."""
    return FlatAdam(
        model.parameters(),
        lr=section.lr,
        eps=section.eps,
        weight_decay=section.weight_decay,
        decoupled_weight_decay=section.name == "adamw",
    )


def learning_rate(section: OptimizerSection, epoch: float, epochs: int) -> float:
    """The learning rate after a number of epochs, possibly a fraction, of a run of ``epochs`` epochs."""
    lr = section.lr
    if epoch < section.warmup:
        return lr * epoch / section.warmup
    if section.schedule == "cosine":
        passed = (epoch - section.warmup) / max(epochs - section.warmup, 1e-9)
        return lr * 0.5 * (1 + math.cos(math.pi * min(passed, 1.0)))
    return lr
