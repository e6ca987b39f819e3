"""When operators are computed by their plain definitions, in PyTorch's own operators, or by kernels without a backward.

The definitions can do whatever PyTorch can: be exported, vectorized over, differentiated in forward mode and any number
of times. They take over by themselves where the kernels could not be used, and on demand within ``plain_path``.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.autograd import forward_ad

_VECTORIZING = torch._C._dispatch_key_parse("VmapMode")
_forced = 0  # a plain global: torch.compile guards it, and so compiles again when it changes


@contextmanager
def plain_path() -> Iterator[None]:
    """Within it every operator is its plain definition, so that a traced or exported model needs PyTorch alone.

    It is on by itself while ``torch.export``, ``torch.onnx.export`` or ``torch.jit.trace`` run, under the transforms of
    ``torch.func`` and in forward-mode differentiation. It holds for all threads of the process.
    """
    global _forced
    _forced += 1
    try:
        yield
    finally:
        _forced -= 1


class _Mode(threading.local):
    forward_only = False


_mode = _Mode()


@contextmanager
def forward_only() -> Iterator[None]:
    """Within it, on this thread and where gradients are off, operators make nothing that only a backward needs.

    Their results may differ from those with gradients in the last digit. Gradients are also off in the first pass of
    layers that are computed again in backward, which must have the same bits as the second: this is for predictions.
    """
    before, _mode.forward_only = _mode.forward_only, True
    try:
        yield
    finally:
        _mode.forward_only = before


def is_forward_only() -> bool:
    """Whether nothing is to be made for a backward."""
    return not torch.compiler.is_compiling() and _mode.forward_only and not torch.is_grad_enabled()


def on_plain_path() -> bool:
    """Whether operators are to be computed by their definitions."""
    return _forced > 0 or is_traced()


def is_traced() -> bool:
    """Whether tensors stand for more than their numbers: in an export, a trace or a transform."""
    if torch.compiler.is_exporting() or under_transform():
        return True
    return not torch.compiler.is_compiling() and torch._C._is_tracing()


def under_transform() -> bool:
    """Whether a transform of ``torch.func``, or forward-mode differentiation, is at work."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def is_vectorized_backward() -> bool:
    """Whether autograd runs a backward for many gradients at once (``is_grads_batched``)."""
    return bool(torch._C._dispatch_tls_local_include_set().has(_VECTORIZING))
