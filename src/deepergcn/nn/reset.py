"""Draw parameters anew."""

from torch import nn
from torch_geometric.nn.inits import reset


def reset_children(module: nn.Module) -> None:
    """Reset every module below ``module``, in the order in which they were made.

    With the seed of the construction the parameters are those of the construction. A module that has no
    ``reset_parameters`` and owns parameters itself keeps them, as in PyTorch Geometric.
    """
    for child in module.children():
        reset(child)
