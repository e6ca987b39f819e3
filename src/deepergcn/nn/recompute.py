"""Recompute activations in backward instead of keeping them."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.utils.parametrize import ParametrizationList
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.utils.checkpoint import checkpoint

from deepergcn.ops.path import is_traced

R = TypeVar("R")


def recompute(modules: Sequence[nn.Module], function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """``function(*args, **kwargs)``, keeping only its inputs; activations are recomputed in backward.

    Non-reentrant, so that it works under DistributedDataParallel; dropout draws the same mask again. ``modules`` are
    the modules that ``function`` runs: their running statistics are updated only once, and they are in training or
    evaluation as they were. Activations are kept where the weights that they were computed with are not, or the masks
    of an explainer, which takes them away before backward.
    """

    def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), _Again(modules)

    out: R
    if any(changes_its_weights(module) or _is_explained(module) for module in modules):
        return function(*args, **kwargs)
    if is_traced():  # transforms of torch.func take no checkpoints, and what is exported has no backward
        return function(*args, **kwargs)
    if torch.compiler.is_compiling():  # torch.compile takes no contexts of Python
        out = checkpoint(function, *args, use_reentrant=False, **kwargs)
    else:
        out = checkpoint(function, *args, use_reentrant=False, context_fn=contexts, **kwargs)
    return out


def changes_its_weights(module: nn.Module) -> bool:
    """Whether a forward in training computes with other weights than the one before, as spectral norm does."""
    return any(
        any(isinstance(hook, SpectralNorm) for hook in vars(part)["_forward_pre_hooks"].values())
        or (isinstance(part, ParametrizationList) and any(True for _ in part.buffers()))
        for part in module.modules()
        if part.training
    )


def _is_explained(module: nn.Module) -> bool:
    return any(getattr(part, "explain", None) is True for part in module.modules())


class Conditions:
    """What a pass through modules depends on besides its inputs and their weights.

    That is which of the modules are in training, and the running statistics of batch normalizations that are not.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self._modules = list(dict.fromkeys(part for module in modules for part in module.modules()))
        self._training = [module.training for module in self._modules]
        self._statistics = versions(self._buffers())

    @contextmanager
    def restored(self) -> Iterator[None]:
        """All modules in training or evaluation as they were; running statistics must be as they were."""
        now = [module.training for module in self._modules]
        self._set(self._training)
        try:
            if versions(self._buffers()) != self._statistics:
                raise RuntimeError(
                    "the running statistics of a batch normalization have been modified by an inplace operation since "
                    "a forward in evaluation, which is to be computed again in backward"
                )
            yield
        finally:
            self._set(now)

    def _set(self, training: Sequence[bool]) -> None:
        for module, flag in zip(self._modules, training, strict=True):
            module.training = flag

    def _buffers(self) -> list[Tensor]:
        fixed = (module for module in self._modules if isinstance(module, _BatchNorm) and not module.training)
        return [buffer for norm in fixed for buffer in norm.buffers()]


def versions(tensors: Sequence[Tensor]) -> "array[int]":
    """Which tensors these are, and their versions; much smaller than what autograd keeps to compare them."""
    return array("q", (n for t in tensors for n in (id(t), -1 if t.is_inference() else t._version)))


class _Again(AbstractContextManager[None]):
    """The conditions of a forward that is run again: once for every backward of a graph that is retained."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self._modules, self._conditions, self._within = modules, Conditions(modules), ExitStack()

    def __enter__(self) -> None:
        self._within.enter_context(self._conditions.restored())
        self._within.enter_context(statistics_kept(*self._modules))

    def __exit__(self, *error: Any) -> bool | None:
        return self._within.__exit__(*error)


@contextmanager
def statistics_kept(*modules: nn.Module) -> Iterator[None]:
    """Keep the running statistics of batch normalization unchanged."""
    norms: list[Any] = [norm for module in modules for norm in module.modules() if isinstance(norm, _BatchNorm)]
    before = [(norm.momentum, norm.num_batches_tracked) for norm in norms]
    try:
        for norm in norms:
            norm.momentum, norm.num_batches_tracked = None, None
        yield
    finally:
        for norm, (momentum, count) in zip(norms, before, strict=True):
            norm.momentum, norm.num_batches_tracked = momentum, count
