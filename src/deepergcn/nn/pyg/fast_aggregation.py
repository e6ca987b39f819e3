"""PyG's aggregations on the fast path."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
import torch_geometric.nn as pyg
from torch import Tensor

from deepergcn import ops
from deepergcn.errors import InputError
from deepergcn.nn.pyg.adjacency_cache import cached_grouping
from deepergcn.nn.pyg.exact import Definition, is_number, is_usual, runs_plainly
from deepergcn.nn.pyg.in_place import InPlace, original_class, renamed, stands_for
from deepergcn.ops import Adjacency, EdgeTerm

SMALL = 1024
"""Below this number of messages PyG is as fast: sorting them costs as much as it saves."""


class FastAggregation(InPlace, pyg.Aggregation):
    """An aggregation of messages [messages, channels] by index; anything else falls back to PyG's code."""

    pyg_forward: ClassVar[Callable[..., Tensor]]

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            return self.pyg_forward(x, index, ptr, dim_size, dim)
        else:  # noqa: RET505 - TorchScript leaves out this branch only if it is one
            return aggregate(self, x, index, ptr, dim_size, dim)


def aggregate(
    module: Any, x: Tensor, index: Tensor | None, ptr: Tensor | None, dim_size: int | None, dim: int
) -> Tensor:
    out = None
    if index is not None and dim_size is not None and is_usual_call(module, x, index, ptr, dim) and not why_not(module):
        out = attempt(partial(_reduce, module, x, index, dim_size))
    # What the fast path keeps for its backward is its own, so that a user may change the result in place.
    return module.pyg_forward(x, index, ptr, dim_size, dim) if out is None else out.clone()


def is_large(num_messages: int) -> bool:
    """Whether the fast path pays off; always in a compiled program, which serves any size."""
    return torch.compiler.is_compiling() or num_messages >= SMALL


def attempt(compute: Callable[[], Tensor | None]) -> Tensor | None:
    """The result, or None if the fast path refuses the input: PyG then computes it, or raises its own error."""
    if torch.compiler.is_compiling():
        return compute()
    try:
        return compute()
    except InputError:
        return None


def _reduce(module: Any, x: Tensor, index: Tensor, num_groups: int) -> Tensor | None:
    return reduce_messages(module, x, cached_grouping(index, num_groups))


def is_usual_call(module: Any, x: Tensor, index: Tensor, ptr: Tensor | None, dim: int) -> bool:
    """Whether rows are grouped by an index with one entry per row, as the fast path requires."""
    if x.dim() != 2 or not is_large(x.shape[0]) or dim not in (-2, 0) or not is_usual(x) or not runs_plainly():
        return False
    if index.dtype != torch.int64 or index.shape != x.shape[:1] or index.device != x.device:
        return False
    if not torch.compiler.is_compiling() and type(index) is not Tensor:
        return False
    return ptr is None or not module._deterministic


def why_not(module: Any) -> str | None:
    """The reason why one of PyG's aggregations always falls back to PyG's code, or None."""
    original = original_class(module)
    if original not in DEFINITIONS:
        return f"{type(module).__name__} is not one of the aggregations of the fast path"
    if original is pyg.PowerMeanAggregation and not _is_positive(module):
        return "its power mean takes messages that are not positive"
    return DEFINITIONS[original].why_not(module)


def _is_positive(module: Any) -> bool:
    low, high = module.min_value, module.max_value
    return is_number(low) and low > 0 and (high is None or (is_number(high) and high > low))


def has_parameter(module: Any, x: Tensor) -> bool:
    """Whether the fast path supports this t or p: a number, or a tensor that keeps the precision of ``x``."""
    value = getattr(module, "t", getattr(module, "p", 1.0))
    if not isinstance(value, Tensor):
        return is_number(value)
    fits = is_usual(value) and value.dtype == x.dtype and value.shape in ((1,), x.shape[1:])
    return fits and (module.channels == 1 or value.shape == (module.channels,))


def reduce_messages(
    module: Any, x: Tensor, adjacency: Adjacency, edge: EdgeTerm | None = None, eps: float | None = None
) -> Tensor | None:
    """Aggregate the messages ReLU(x + edge) + eps, or x itself; None if PyG's code is needed."""
    if not has_parameter(module, x):
        return None
    match module:
        case pyg.SoftmaxAggregation():
            semi_gradient = module.semi_grad and not module.learn
            return ops.softmax(x, adjacency, edge, beta=module.t, semi_gradient=semi_gradient, eps=eps)
        case pyg.PowerMeanAggregation():
            # PyG clamps messages before it takes their power, which cannot be done before the edge term is added.
            if edge is not None or not _has_power(module.p):
                return None
            return _power_mean(module, x if eps is None else x.relu() + eps, adjacency)
    plain = next(function for theirs, function in _PLAIN.items() if isinstance(module, theirs))
    return plain(x, adjacency, edge, eps=eps)


def _has_power(p: Any) -> bool:
    """Whether p is not 0, where PyG's power mean is 1 for any messages; unknown in a compiled program.

    A GPU is not waited for: there ``_power_mean`` gives what PyG gives for a p of 0.
    """
    if not isinstance(p, Tensor):
        return bool(p != 0)
    return not torch.compiler.is_compiling() and (_is_unread(p) or bool((p.detach() != 0).all()))


def _is_unread(p: Any) -> bool:
    """Whether p lies on a GPU."""
    return isinstance(p, Tensor) and p.device.type != "cpu"


def _power_mean(module: Any, m: Tensor, adjacency: Adjacency) -> Tensor | None:
    """PyG's power mean: messages clamped, and their mean power M clamped before it becomes M^(1/p).

    With r the power mean of the clamped messages, ln M is p ln r. M of an empty group is 0, which PyG clamps too. None
    for messages that are NaN, whose clamps have gradients of 0 in PyG.
    """
    p, low, high = module.p, module.min_value, module.max_value
    if not isinstance(p, Tensor) and p == 1:
        return ops.mean(m, adjacency, eps=None)
    r = ops.power_mean(m.clamp(low, high), adjacency, p=p, eps=None)
    if r.device.type == "cpu" and not torch.compiler.is_compiling() and bool(r.detach().sum().isnan()):
        return None
    empty = (adjacency.degree() == 0)[:, None]
    log_of_mean = p * torch.where(empty, 1.0, r).log()
    log_of_mean = torch.where(empty, math.log(low), log_of_mean)
    log_of_mean = log_of_mean.clamp(math.log(low), None if high is None else math.log(high))
    out: Tensor = (log_of_mean / p).exp()
    if _is_unread(p):
        out = torch.where(p == 0, log_of_mean.detach().exp() ** (1 / p.detach()), out)
    return out


_PLAIN = {
    pyg.SumAggregation: ops.sum,
    pyg.MeanAggregation: ops.mean,
    pyg.MaxAggregation: ops.max,
    pyg.MinAggregation: ops.min,
}


def _fast_class(original: Any) -> type[FastAggregation]:
    @stands_for(original)
    class Fast(FastAggregation, original):
        pyg_forward = renamed(original.forward, "pyg_forward")

    return Fast


AGGREGATIONS = {
    original: _fast_class(original) for original in (pyg.SoftmaxAggregation, pyg.PowerMeanAggregation, *_PLAIN)
}
"""PyG's classes and their replacements."""

DEFINITIONS = {original: Definition(original, "forward", "reduce") for original in AGGREGATIONS}
