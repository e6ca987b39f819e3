"""Detect non-finite numbers before they reach the weights, and name the layer that they come from."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from deepergcn.errors import InputError
from deepergcn.runs.model.network import AnyNetwork


@contextmanager
def explained(model: nn.Module, place: str) -> Iterator[None]:
    """Say where a network rejected its input; after a step that was too large its own weights may be the reason."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {_parameter_not_finite(model) or error}") from error


def check_finite(model: AnyNetwork, data: Data, loss: Tensor, place: str) -> None:
    """Stop before a loss that is not finite reaches the weights, and say where it comes from."""
    if bool(loss.isfinite()):
        return
    raise InputError(
        f"{place}: the loss is {float(loss.detach())}; {_first_not_finite(model, data)}; try a lower optimizer.lr"
    )


def check_gradient(model: nn.Module, norm: Tensor, place: str) -> None:
    """Stop before a gradient that is not finite reaches the weights, and say whose it is."""
    if bool(norm.isfinite()):
        return
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not bool(parameter.grad.isfinite().all()):
            raise InputError(f"{place}: the gradient of the parameter {name} is not finite; try a lower optimizer.lr")
    raise InputError(f"{place}: the norm of the gradient is not finite; try optimizer.clip")


def _first_not_finite(model: AnyNetwork, data: Data) -> str:
    if reason := _parameter_not_finite(model):
        return reason
    found: list[str] = []

    def watch(name: str) -> "torch.utils.hooks.RemovableHandle":
        def hook(module: nn.Module, inputs: object, output: object) -> None:
            if isinstance(output, Tensor) and not bool(output.isfinite().all()):
                found.append(name)

        return model.get_submodule(name).register_forward_hook(hook)

    hooks = [watch(name) for name, _ in model.named_modules() if name]
    try:
        with torch.no_grad():
            model(data)
    finally:
        for handle in hooks:
            handle.remove()
    return f"the first output that is not finite is that of {found[0]}" if found else "the targets are not finite"


def _parameter_not_finite(model: nn.Module) -> str | None:
    names = (name for name, parameter in model.named_parameters() if not bool(parameter.isfinite().all()))
    name = next(names, None)
    return None if name is None else f"the parameter {name} is not finite"
