"""PyTorch Geometric's own modules on the fast path, in place."""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn

from deepergcn import ops
from deepergcn.nn.encoders.edges import WIDEST_AFFINE
from deepergcn.nn.pyg.adjacency_cache import cached_adjacency
from deepergcn.nn.pyg.from_pyg import ACCELERATED, grouping
from deepergcn.ops import Adjacency, Affine, Dense, EdgeTerm


@dataclass(frozen=True)
class Acceleration:
    """What :func:`accelerate` did: the modules on the fast path, and those left alone with the reason, by name."""

    fast: tuple[str, ...]
    left: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{len(self.fast)} modules on the fast path, {len(self.left)} left as they are"]
        return "\n".join(lines + [f"{name}: {reason}" for name, reason in self.left.items()])


def accelerate(model: nn.Module) -> Acceleration:
    """Let the ``GENConv`` and aggregation modules of any PyG model run on the fast path, in place.

    Parameters, ``state_dict``, hooks and results stay PyG's, its clamps included; only the class of each module
    changes, to a subclass of its own. What the fast path cannot compute (explanations, features of more than two
    dimensions, a reversed flow) goes PyG's way by itself.

    Example:
        >>> import torch_geometric.nn as pyg
        >>> model = pyg.Sequential("x, edge_index", [(pyg.GENConv(8, 8), "x, edge_index -> x")])
        >>> print(accelerate(model))
        2 modules on the fast path, 0 left as they are
    """
    fast: list[str] = []
    left: dict[str, str] = {}
    for name, module in model.named_modules():
        name = name or type(module).__name__
        if type(module) in _FAST.values():
            fast.append(name)
        elif type(module) in _FAST:
            reason = _reason_to_leave(module)
            if reason is None:
                module.__class__ = _FAST[type(module)]
                fast.append(name)
            else:
                left[name] = reason
        elif isinstance(module, tuple(_FAST)):
            left[name] = f"{type(module).__name__} may compute something else than the class it extends"
    return Acceleration(tuple(fast), left)


def _reason_to_leave(module: Any) -> str | None:
    if isinstance(module, pyg.PowerMeanAggregation) and (module.min_value is None or module.min_value <= 0):
        return "its power mean takes messages that are not positive"
    if isinstance(module, pyg.GENConv):
        if module.flow != "source_to_target" or module.node_dim != -2:
            return "its messages run against the edges, or its nodes are not in rows"
        if type(module.aggr_module) not in (*_FAST, *_FAST.values()):
            return f"its aggregator is {module.aggr_module}"
        if isinstance(module.aggr_module, pyg.PowerMeanAggregation):
            return _reason_to_leave(module.aggr_module)
    return None


class FastGENConv(pyg.GENConv):
    """PyG's GENConv whose messages are aggregated without being made."""

    def propagate(self, edge_index: Any, size: Any = None, **kwargs: Any) -> Tensor:
        adjacency = self._adjacency(edge_index, size, **kwargs)
        if adjacency is None:
            out: Tensor = super().propagate(edge_index, size=size, **kwargs)
            return out
        aggregation = self.aggr_module
        x, edge = kwargs["x"][0], self._edge_term(kwargs["edge_attr"])
        match aggregation:
            case pyg.SoftmaxAggregation():
                semi_gradient = aggregation.semi_grad and not aggregation.learn
                return ops.softmax(x, adjacency, edge, beta=aggregation.t, semi_gradient=semi_gradient, eps=self.eps)
            case pyg.PowerMeanAggregation():
                return _power_mean(aggregation, x.relu() + self.eps, adjacency)
        plain = next(function for theirs, function in _PLAIN.items() if isinstance(aggregation, theirs))
        return plain(x, adjacency, edge, eps=self.eps)

    def _adjacency(self, edge_index: Any, size: Any, x: Any, edge_attr: Tensor | None) -> Adjacency | None:
        """The structure, or None where PyG's own way is needed."""
        source, target = x
        if self.explain or self.decomposed_layers > 1 or any(getattr(self, hooks) for hooks in _HOOKS):
            return None
        if source.dim() != 2 or not isinstance(edge_index, Tensor):
            return None
        is_power = isinstance(self.aggr_module, pyg.PowerMeanAggregation)
        # PyG clamps messages before it takes their power, which cannot be done before the edge term is added.
        if is_power and (edge_attr is not None or not _has_power(self.aggr_module)):
            return None
        if not _is_plain_graph(edge_index) or (edge_index.layout != torch.strided and edge_attr is not None):
            return None
        num_sources = source.shape[0]
        num_targets = target.shape[0] if target is not None else num_sources if size is None else size[1]
        if size is not None and tuple(size) != (num_sources, num_targets):
            return None
        return cached_adjacency(edge_index, num_sources, num_targets)

    def _edge_term(self, edge_attr: Tensor | None) -> EdgeTerm | None:
        if edge_attr is None:
            return None
        if not hasattr(self, "lin_edge"):
            return Dense(edge_attr)
        if edge_attr.shape[-1] > WIDEST_AFFINE:
            return Dense(self.lin_edge(edge_attr))
        return Affine(edge_attr, self.lin_edge.weight, self.lin_edge.bias)


class _Indexed(pyg.Aggregation):
    """A PyG aggregation of messages [messages, channels] on the fast path; anything else goes PyG's way."""

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        if x.dim() != 2 or dim not in (-2, 0) or not x.is_floating_point() or not self.is_fast():
            out: Tensor = super().forward(x, index, ptr, dim_size, dim)
            return out
        return self.over(x, grouping(x, index, ptr, dim_size))

    def is_fast(self) -> bool:
        return True

    def over(self, x: Tensor, groups: Adjacency) -> Tensor:
        raise NotImplementedError


class FastSoftmaxAggregation(_Indexed, pyg.SoftmaxAggregation):
    def over(self, x: Tensor, groups: Adjacency) -> Tensor:
        return ops.softmax(x, groups, beta=self.t, semi_gradient=self.semi_grad and not self.learn, eps=None)


class FastPowerMeanAggregation(_Indexed, pyg.PowerMeanAggregation):
    def is_fast(self) -> bool:
        return _has_power(self)

    def over(self, x: Tensor, groups: Adjacency) -> Tensor:
        return _power_mean(self, x, groups)


class FastSumAggregation(_Indexed, pyg.SumAggregation):
    def over(self, x: Tensor, groups: Adjacency) -> Tensor:
        return ops.sum(x, groups, eps=None)


class FastMeanAggregation(_Indexed, pyg.MeanAggregation):
    def over(self, x: Tensor, groups: Adjacency) -> Tensor:
        return ops.mean(x, groups, eps=None)


class FastMaxAggregation(_Indexed, pyg.MaxAggregation):
    def over(self, x: Tensor, groups: Adjacency) -> Tensor:
        return ops.max(x, groups, eps=None)


class FastMinAggregation(_Indexed, pyg.MinAggregation):
    def over(self, x: Tensor, groups: Adjacency) -> Tensor:
        return ops.min(x, groups, eps=None)


def _is_plain_graph(edge_index: Tensor) -> bool:
    """Whether ``edge_index`` is only a structure: integers, or a sparse matrix whose values PyG ignores."""
    if edge_index.layout == torch.strided:
        return edge_index.dtype in (torch.int64, torch.int32)
    if edge_index.layout == torch.sparse_coo and not edge_index.is_coalesced():
        return False
    return edge_index.values().dim() == 1


def _has_power(aggregation: Any) -> bool:
    """PyG's power mean at p = 0 is 1 whatever the messages are, and has no gradient."""
    p = aggregation.p
    return bool((p.detach() != 0).all()) if isinstance(p, Tensor) else p != 0


def _power_mean(aggregation: Any, m: Tensor, adjacency: Adjacency) -> Tensor:
    """PyG's power mean: messages clamped, and their mean power M clamped before it becomes M^(1/p).

    With r the power mean of the clamped messages, ln M is p ln r. M of an empty group is 0, which PyG clamps too.
    """
    p, low, high = aggregation.p, aggregation.min_value, aggregation.max_value
    if not isinstance(p, Tensor) and p == 1:
        return ops.mean(m, adjacency, eps=None)
    r = ops.power_mean(m.clamp(low, high), adjacency, p=p, eps=None)
    empty = (adjacency.degree() == 0)[:, None]
    log_of_mean = p * torch.where(empty, 1.0, r).log()
    log_of_mean = torch.where(empty, math.log(low), log_of_mean)
    out: Tensor = (log_of_mean.clamp(math.log(low), None if high is None else math.log(high)) / p).exp()
    return out


_PLAIN = {
    pyg.SumAggregation: ops.sum,
    pyg.MeanAggregation: ops.mean,
    pyg.MaxAggregation: ops.max,
    pyg.MinAggregation: ops.min,
}

_FAST: dict[type, type] = {
    pyg.GENConv: FastGENConv,
    pyg.SoftmaxAggregation: FastSoftmaxAggregation,
    pyg.PowerMeanAggregation: FastPowerMeanAggregation,
    pyg.SumAggregation: FastSumAggregation,
    pyg.MeanAggregation: FastMeanAggregation,
    pyg.MaxAggregation: FastMaxAggregation,
    pyg.MinAggregation: FastMinAggregation,
}
ACCELERATED.update({fast: theirs for theirs, fast in _FAST.items()})

_HOOKS = tuple(
    f"_{step}_forward_{when}" for step in ("propagate", "message", "aggregate") for when in ("pre_hooks", "hooks")
)
"""Where PyG keeps what users attach to the steps that the fast path leaves out."""
