"""What the fast path accepts: modules exactly as PyG defines them, in PyTorch's default mode of execution.

Every function here is conservative: unknown cases fall back to PyG's code.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules import module as torch_module
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from deepergcn.nn.pyg.in_place import known_class
from deepergcn.ops.operators.device import is_supported

_FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


class Definition:
    """Methods of a class as they were when this package was imported."""

    def __init__(self, cls: type, *names: str) -> None:
        self.cls = cls
        self.methods = {name: getattr(cls, name) for name in names}

    def why_not(self, module: nn.Module) -> str | None:
        """The reason why ``module`` may differ from its class's definition, or None."""
        known = known_class(module)
        for name, method in self.methods.items():
            own = name in module.__dict__ or getattr(type(module), name) is not getattr(known, name)
            if own or getattr(self.cls, name) is not method:
                return f"its {name} was replaced"
        return None


def runs_plainly() -> bool:
    """Whether nothing watches or transforms what modules compute, other than autograd and torch.compile.

    False under torch.export, ONNX export and tracing, whose results must run without this package, under torch.func
    and forward-mode differentiation, under modes of dispatch or of functions, and with global module hooks.
    """
    if torch.compiler.is_compiling():
        return not torch.compiler.is_exporting()
    return not (
        torch.jit.is_tracing()  # type: ignore[attr-defined,no-untyped-call]
        or torch._C._len_torch_dispatch_stack()
        or _has_function_mode()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or forward_ad._current_level >= 0
        or torch_module._has_any_global_hook()
    )


def _has_function_mode() -> bool:
    """Whether a ``TorchFunctionMode`` sees what is called, other than that of ``torch.set_default_device``."""
    return any(type(mode) is not DeviceContext for mode in _get_current_function_mode_stack())


def is_usual(tensor: Any) -> bool:
    """Whether kernels can read a tensor: strided, floating-point, and no subclass with its own behaviour."""
    if not isinstance(tensor, Tensor) or tensor.dtype not in _FLOATS or tensor.layout != torch.strided:
        return False
    return is_supported(tensor) and (torch.compiler.is_compiling() or type(tensor) in (Tensor, nn.Parameter))


def is_number(value: Any) -> bool:
    return type(value) in (int, float)
