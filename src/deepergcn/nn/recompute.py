"""Recompute activations in backward instead of keeping them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, noop_context_fn

R = TypeVar("R")


def recompute(modules: Sequence[nn.Module], function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """``function(*args, **kwargs)``, keeping only its inputs; activations are recomputed in backward.

    Non-reentrant, so that it works under DistributedDataParallel; dropout draws the same mask again. ``modules`` are
    the modules that ``function`` runs: their running statistics are updated only once.
    """

    def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), statistics_kept(*modules)

    # torch.compile takes no contexts of Python.
    context_fn = noop_context_fn if torch.compiler.is_compiling() else contexts
    out: R = checkpoint(function, *args, use_reentrant=False, context_fn=context_fn, **kwargs)
    return out


@contextmanager
def statistics_kept(*modules: nn.Module) -> Iterator[None]:
    """Keep the running statistics of batch normalization unchanged."""
    norms: list[Any] = [
        norm for module in modules for norm in module.modules() if isinstance(norm, nn.modules.batchnorm._BatchNorm)
    ]
    before = [(norm.momentum, norm.num_batches_tracked) for norm in norms]
    try:
        for norm in norms:
            norm.momentum, norm.num_batches_tracked = None, None
        yield
    finally:
        for norm, (momentum, count) in zip(norms, before, strict=True):
            norm.momentum, norm.num_batches_tracked = momentum, count
