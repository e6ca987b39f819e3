"""Adam, and its learning rate as a function of the step, so that it needs no state."""

import math

import torch
from torch import nn

from deepergcn.recipes.schema import OptimizerSection

_CLASSES = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def make_optimizer(model: nn.Module, section: OptimizerSection) -> torch.optim.Optimizer:
    """The optimizer of a recipe, in one fused pass over the weights."""
    cls = _CLASSES[section.name]
    optimizer: torch.optim.Optimizer = cls(
        model.parameters(), lr=section.lr, eps=section.eps, weight_decay=section.weight_decay, fused=True
    )
    return optimizer


def learning_rate(section: OptimizerSection, epoch: float, epochs: int) -> float:
    """The learning rate after a number of epochs, possibly a fraction, of a run of ``epochs`` epochs."""
    lr = section.lr
    if epoch < section.warmup:
        return lr * epoch / section.warmup
    if section.schedule == "cosine":
        passed = (epoch - section.warmup) / max(epochs - section.warmup, 1e-9)
        return lr * 0.5 * (1 + math.cos(math.pi * min(passed, 1.0)))
    return lr
