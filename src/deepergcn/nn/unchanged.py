"""Whether a module is exactly what its class says, so that an operator may take its place."""

import torch
from torch import nn
from torch.nn.modules import module as torch_module

_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


def has_hooks(module: nn.Module) -> bool:
    """Whether ``module`` has hooks, such as those of weight normalization, pruning and lazy widths."""
    own = module.__dict__
    return any(own[hooks] for hooks in _HOOKS)


def is_unchanged(module: nn.Module | None) -> bool:
    """Whether a call of ``module`` is its class's ``forward`` and nothing else; no module is unchanged."""
    if module is None:
        return True
    watched = has_hooks(module) or "forward" in module.__dict__
    return not watched and (torch.compiler.is_compiling() or not torch_module._has_any_global_hook())
