"""Replace modules anywhere in a model."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn
from torch.nn.parameter import is_lazy

from deepergcn.errors import InputError, listed
from deepergcn.nn.unchanged import has_hooks

Converter = Callable[[Any, str, "Replacement"], nn.Module]
"""Converts a module, given its path in the model (for errors) and the replacement of its submodules."""


def check_module(module: Any, name: str) -> None:
    if not isinstance(module, nn.Module):
        raise InputError(f"{name}: expected a torch.nn.Module, got {type(module).__name__}")


class Replacement:
    """Calls the converter of every module that has one; others are kept, with their children replaced.

    Args:
        converters: the converter of each class; subclasses are refused.
        class_of: gives the class of a module; by default its type.
    """

    def __init__(self, converters: Mapping[type, Converter], class_of: Callable[[nn.Module], type] = type) -> None:
        self.converters = converters
        self.class_of = class_of
        self.done: dict[nn.Module, nn.Module] = {}  # a module that stands in two places stays one

    def of(self, module: nn.Module) -> nn.Module:
        """A copy of ``module`` with everything replaced."""
        new = self(copy.deepcopy(module), type(module).__name__)
        if _num_trainable(new) > _num_trainable(module):
            raise InputError(
                f"{type(module).__name__}: its modules share weights ({_shared_weights(module)}), which their "
                "equivalents would not; expected modules with weights of their own"
            )
        return new

    def __call__(self, module: nn.Module, path: str) -> nn.Module:
        if module not in self.done:
            self.done[module] = self._replaced(module, path)
        return self.done[module]

    def _replaced(self, module: nn.Module, path: str) -> nn.Module:
        for known, convert in self.converters.items():
            if isinstance(module, known):
                if self.class_of(module) is not known:
                    raise InputError(
                        f"{path}: {type(module).__name__} changes {known.__name__} and has no equivalent here"
                    )
                check_unchanged(module, path)
                return convert(module, path, self).train(module.training)
        for name, child in module._modules.items():
            if child is not None:
                module._modules[name] = self(child, f"{path}.{name}")
        return module


def _num_trainable(module: nn.Module) -> int:
    """The number of weights that are learned; those that are not initialized yet have none to share."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad and not is_lazy(p))


def _shared_weights(module: nn.Module) -> str:
    """The weights that have several names, for an error message."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return listed([" and ".join(several) for several in names.values() if len(several) > 1])


def check_unchanged(module: nn.Module, path: str) -> None:
    """Refuse a module that does more than its class says."""
    if has_hooks(module) or "forward" in module.__dict__:
        raise InputError(f"{path}: has hooks or a forward of its own, which its equivalent would not have")


def check_widths(module: nn.Module, path: str) -> None:
    """Refuse a module whose lazy widths are still unknown."""
    if any(isinstance(parameter, nn.UninitializedParameter) for parameter in module.parameters()):
        raise InputError(f"{path}: its widths are not known yet; call it once before")


def copy_state(source: Any, target: nn.Module) -> None:
    """Copy weights, buffers, dtype, device and ``requires_grad``."""
    like = next(source.parameters(), None)
    if like is not None:
        target.to(device=like.device, dtype=like.dtype)
    target.load_state_dict(source.state_dict())
    for name, parameter in source.named_parameters():
        target.get_parameter(name).requires_grad_(parameter.requires_grad)
    for name in ("eps", "momentum"):
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
