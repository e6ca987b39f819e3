"""Reinitialize parameters."""

from torch import nn
from torch_geometric.nn.inits import reset


def reset_children(module: nn.Module) -> None:
    """Reset every submodule of ``module``, in the order of construction.

    With the same seed the parameters are the same as at construction. Modules without ``reset_parameters`` keep
    their own parameters, as in PyTorch Geometric.
    """
    for child in module.children():
        reset(child)
