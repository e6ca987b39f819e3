"""Which device's kernels work on a tensor: Numba's on a CPU, Triton's on a GPU, none elsewhere."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from deepergcn.ops.path import on_plain_path

_OLDEST = (7, 0)  # the compute capability from which on Triton makes code


def has_kernels(x: Tensor) -> bool:
    """Whether there are kernels for ``x``, outside of the plain path."""
    return is_supported(x) and not on_plain_path()


def is_supported(x: Tensor) -> bool:
    """Whether the device of ``x`` has kernels."""
    return x.device.type == "cpu" or on_gpu(x)


def on_gpu(x: Tensor) -> bool:
    """Whether the kernels of a GPU work on ``x``."""
    return x.device.type == "cuda" and bool(_has_triton(x.device.index or 0))


def gpu_kernels(name: str) -> Any:
    """The module of ``kernels.gpu`` with this name; Triton is imported here, and nowhere without a GPU."""
    return import_module(f"deepergcn.ops.kernels.gpu.{name}")


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _has_triton(index: int) -> bool:
    """Whether Triton is installed and makes code for this GPU; a GPU that is only traced for is taken for a new one.

    AMD's GPUs have the device type cuda too: the kernels have not been compiled for them.
    """
    if torch.version.hip is not None or find_spec("triton") is None:
        return False
    return not torch.cuda.is_available() or torch.cuda.get_device_capability(index) >= _OLDEST
