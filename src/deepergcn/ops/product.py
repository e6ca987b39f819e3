"""x W^T + b of vertex features, by whichever library that comes with PyTorch multiplies fastest.

PyTorch multiplies float32 by MKL, which on AMD's processors leaves half of their registers unused; oneDNN, which it
calls for other types, does not. Results of oneDNN differ from those of PyTorch in the last digits, others are its own,
bit for bit. Large results lie in memory of ``kernels.recycled``, where memory is what takes the time.
"""

import functools
from itertools import pairwise
from typing import Any

import torch
from llvmlite import binding
from torch import Tensor
from torch.nn import functional as F

from deepergcn.ops.kernels.recycled import empty, fits
from deepergcn.ops.large import is_large
from deepergcn.ops.operators.aggregation import is_eager, needs_definition
from deepergcn.ops.path import on_plain_path

_NARROWEST = 64
"""The number of channels from which on oneDNN is faster, on both sides of the weight."""

_LEAST = 1 << 24
"""The number of multiplications from which on it is; fewer take no longer than its calls."""

_LEAST_ROWS = 256
"""The number of rows from which on it is."""

_BLOCK, _STEP = 1024, 64
"""oneDNN compiles a product for every number of rows that it meets and keeps some of them, and batches have ever other
ones. It is given blocks of 1024 rows, the largest multiple of 64 that is left, and the rest: 79 numbers in all."""


def is_special(x: Tensor) -> bool:
    """Whether ``linear`` may do better than PyTorch for ``x``."""
    return is_large(x) or _takes(x)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x weight^T + bias, for x [rows, in] and weight [out, in]."""
    if x.dim() != 2 or not is_eager(weight) or weight.dtype != x.dtype:
        return F.linear(x, weight, bias)
    if not (is_large(x) and fits(x, x.shape[0], weight.shape[0])) and not _is_quick(x, weight.t()):
        return F.linear(x, weight, bias)
    held = _Hold.apply(x, weight)  # type: ignore[no-untyped-call]
    out: Tensor = _Product.apply(held, x.detach(), weight.detach(), bias)  # type: ignore[no-untyped-call]
    return out


class _Hold(torch.autograd.Function):
    """What the product's backward needs, before the product is computed: the last one of a segment of layers that are
    computed again is not, since PyTorch stops where all that backward needs is there.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return x.new_empty(()).expand(x.shape[0], weight.shape[0])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (g,) = grads
        x, weight = ctx.saved_tensors
        of_x, of_weight = ctx.needs_input_grad
        if needs_definition():
            return g.mm(weight) if of_x else None, g.t().mm(x) if of_weight else None
        return _product(g, weight) if of_x else None, _product_over_rows(g, x) if of_weight else None


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, held: Tensor, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return _product(x, weight.t(), bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (g,) = grads
        return g, None, None, g.sum(dim=0) if ctx.needs_input_grad[3] else None


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight + bias."""
    out = empty(x, x.shape[0], weight.shape[1])
    if not _is_quick(x, weight):
        return torch.mm(x, weight, out=out) if bias is None else torch.addmm(bias, x, weight, out=out)
    for rows in _blocks(len(x)):
        out[rows] = _onednn(x[rows], weight, bias)
    return out


def _product_over_rows(g: Tensor, x: Tensor) -> Tensor:
    """g^T x."""
    if not _is_quick(x, g):
        return g.t().mm(x)
    first, *others = _blocks(len(x))
    out = _onednn(g[first].t(), x[first])
    for rows in others:
        out += _onednn(g[rows].t(), x[rows])
    return out


def _blocks(rows: int) -> list[slice]:
    """The rows that oneDNN is given at once."""
    whole, even = rows - rows % _BLOCK, rows - rows % _STEP
    ends = [*range(_BLOCK, whole + 1, _BLOCK), *(end for end in (even, rows) if end > whole)]
    return [slice(start, end) for start, end in pairwise((0, *ends)) if start < end]


def _onednn(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    out: Tensor = torch.ops.mkldnn._linear_pointwise(a, b.t(), bias, "none", [], "")
    return out


def _is_quick(x: Tensor, other: Tensor) -> bool:
    """Whether oneDNN multiplies the rows of x faster: by a weight, or by a gradient of as many rows."""
    (rows, inner), columns = x.shape, other.shape[1]
    sizes_fit = rows >= _LEAST_ROWS and min(inner, columns) >= _NARROWEST and rows * inner * columns >= _LEAST
    return sizes_fit and _takes(x) and _takes(other)


def _takes(x: Tensor) -> bool:
    is_usual = is_eager(x) and x.dtype == torch.float32 and x.device.type == "cpu" and x.layout == torch.strided
    return is_usual and not on_plain_path() and not torch.is_autocast_enabled("cpu") and _has_onednn()


def _has_onednn() -> bool:
    """Whether oneDNN is there, switched on and faster on this processor."""
    return torch._C._get_mkldnn_enabled() and _is_faster_here()


@functools.cache
def _is_faster_here() -> bool:
    """Whether this is a processor of AMD with AVX-512, and oneDNN's product what is expected of it."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not binding.get_host_cpu_name().startswith("znver"):
        return False
    if not torch.backends.mkldnn.is_available():
        return False
    usual: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}  # whatever the user's defaults are
    a, b = torch.arange(6, **usual).reshape(2, 3), torch.arange(12, **usual).reshape(3, 4)
    try:
        found = _onednn(a, b, torch.ones(4, **usual))
    except (AttributeError, RuntimeError, TypeError):  # an operator that PyTorch does not document may change
        return False
    return torch.equal(found, a @ b + 1)
