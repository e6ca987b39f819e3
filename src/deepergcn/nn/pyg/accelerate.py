"""Accelerate PyTorch Geometric's modules in place, and undo it."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch_geometric.nn as pyg
from torch import nn

from deepergcn.nn.pyg import fast_aggregation, fast_conv
from deepergcn.nn.pyg.fast_aggregation import AGGREGATIONS
from deepergcn.nn.pyg.fast_conv import FastGENConv
from deepergcn.nn.pyg.in_place import InPlace, original_class, renamed, restore_class
from deepergcn.nn.pyg.replace import check_module
from deepergcn.ops.operators.device import is_supported

Model = TypeVar("Model", bound=nn.Module)

_FAST: dict[type, type[Any]] = {pyg.GENConv: FastGENConv, **AGGREGATIONS}


@dataclass(frozen=True)
class Acceleration:
    """Which modules of a model are accelerated, by name.

    Attributes:
        fast: the modules on the fast path.
        left: the modules that use PyG's code, with the reason.
        partly: the modules on the fast path that use PyG's code for some inputs, with the input and the reason.
    """

    fast: tuple[str, ...] = ()
    left: dict[str, str] = field(default_factory=dict)
    partly: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{len(self.fast)} modules on the fast path, {len(self.left)} left to PyG"]
        lines += [f"{name}: left to PyG, {reason}" for name, reason in self.left.items()]
        lines += [f"{name}: {reason}" for name, reason in self.partly.items()]
        return "\n".join(lines)


def accelerate(model: Model) -> Model:
    """Run the ``GENConv`` and aggregation modules of any PyG model on the fast path, in place.

    Parameters, ``state_dict``, hooks, ``repr`` and results stay PyG's, including its clamps; only the class of each
    module changes, to a subclass of the same name. Modules that are not exactly as PyG defines them (a subclass, a
    replaced method, a hook on a step that the fast path skips) and cases that the fast path does not support (graphs of
    fewer than ``SMALL`` edges, devices without kernels, explanations, torch.func, export, TorchScript) fall back to
    PyG's code. :func:`accelerated` reports what was changed, :func:`deaccelerate` undoes it.

    A copy of an accelerated model is accelerated; a pickle holds PyG's own classes and must be accelerated again after
    loading.

    Returns:
        ``model`` itself.

    Examples:
        >>> import torch_geometric.nn as pyg
        >>> model = pyg.Sequential("x, edge_index", [(pyg.GENConv(8, 8), "x, edge_index -> x")])
        >>> model = accelerate(model)
        >>> print(accelerated(model))
        2 modules on the fast path, 0 left to PyG
    """
    for module in _modules(model):
        if type(module) in _FAST and _why_left(module) is None:
            if isinstance(module, pyg.GENConv):
                _prepare(module)
            module.__class__ = _FAST[type(module)]
    return model


def deaccelerate(model: Model) -> Model:
    """Undo :func:`accelerate`: every module gets PyG's own class back. Returns ``model`` itself."""
    for module in _modules(model):
        if isinstance(module, InPlace):
            if isinstance(module, FastGENConv) and _own_propagate(module) is FastGENConv.propagate:
                del module.__dict__["propagate"]
            restore_class(module)
    return model


def accelerated(model: nn.Module) -> Acceleration:
    """Report which modules of ``model`` are on the fast path, and why others are not."""
    fast: list[str] = []
    left: dict[str, str] = {}
    partly: dict[str, str] = {}
    check_module(model, "model")
    for name, module in model.named_modules():
        name = name or type(module).__name__
        if not isinstance(module, tuple(_FAST)):
            continue
        reason = _why_left(module)
        if reason is None and not isinstance(module, InPlace):
            reason = "not accelerated"
        if reason is not None:
            left[name] = reason
            continue
        fast.append(name)
        if isinstance(module, pyg.GENConv) and (reason := fast_conv.why_no_edges(module)):
            partly[name] = f"with edge features its messages are made as PyG makes them, {reason}"
    return Acceleration(tuple(fast), left, partly)


def _modules(model: Any) -> list[Any]:
    check_module(model, "model")
    return list(model.modules())


def _why_left(module: Any) -> str | None:
    """The reason why a module is not on the fast path, or None."""
    if original_class(module) not in _FAST:
        return f"{type(module).__name__} may compute something else than the class it extends"
    tensors = (*module.parameters(), *module.buffers())
    devices = {tensor.device.type for tensor in tensors if not is_supported(tensor)}
    if devices:
        return f"on {devices.pop()} PyG's own code runs"
    if not isinstance(module, pyg.GENConv):
        return fast_aggregation.why_not(module)
    if _own_propagate(module) not in (None, pyg.GENConv._jinja_propagate, FastGENConv.propagate):
        return "its propagate was replaced"
    return fast_conv.why_not(module)


def _own_propagate(conv: Any) -> Any:
    """The function of a ``propagate`` set on the instance by PyG or a user."""
    own = conv.__dict__.get("propagate")
    return getattr(own, "__func__", own)


def _prepare(conv: Any) -> None:
    """PyG writes its ``propagate`` when it makes the first GENConv, and puts it on the instance after explanations."""
    if "pyg_propagate" not in FastGENConv.__dict__:
        FastGENConv.pyg_propagate = renamed(pyg.GENConv._jinja_propagate, "pyg_propagate")
    conv.__dict__.pop("propagate", None)
