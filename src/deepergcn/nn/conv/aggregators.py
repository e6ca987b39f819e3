"""Aggregators: the paper's two families, and the basic aggregators they contain."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from deepergcn import ops
from deepergcn.errors import InputError
from deepergcn.nn.conv.scalar import Scalar, present, restore, scalar
from deepergcn.nn.pyg.names import AGGREGATORS as PYG_AGGREGATORS
from deepergcn.nn.pyg.names import pyg_names
from deepergcn.nn.reset import reset_children
from deepergcn.ops import Adjacency, EdgeTerm


class Aggregation(nn.Module):
    """Base class of aggregators, which reduce the messages that a vertex receives to one, channel by channel.

    Called as ``aggregation(x, adjacency, edge=None, eps=1e-7)`` with the features of the sources. The messages are
    ReLU(h_u + h_e) + eps (equation 4), or h_u + h_e with ``eps=None``.
    """

    initial: Mapping[str, float] = MappingProxyType({})
    """The initial values of learned parameters."""

    def forward(
        self, x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None = None, eps: float | None = 1e-7
    ) -> Tensor:
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Reset learned parameters to their initial values."""
        for name, value in self.initial.items():
            restore(getattr(self, name), value)

    def dynamics(self) -> dict[str, float | list[float]]:
        """The current values of this aggregator's parameters."""
        return {}

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.dynamics().items())


class SoftmaxAggregation(Aggregation):
    """SoftMax_Agg_beta (Proposition 4), scaled by the degree: |N(v)|^y sum_u softmax_u(beta m_vu) m_vu.

    Args:
        beta: the inverse temperature, or its initial value. 0 is the mean, infinity the maximum.
        learn_beta: learn beta.
        y: the exponent of the degree scaling, or its initial value. 0 is none; with beta = 0, 1 is the sum.
        learn_y: learn y.
        semi_gradient: treat the softmax weights as constants in backward; only if beta is fixed.
        channels: learn one value per channel instead of one for all.
    """

    beta: Scalar
    y: Scalar

    @pyg_names({"t": "beta", "learn": "learn_beta", "semi_grad": "semi_gradient"})
    def __init__(
        self,
        beta: float = 1.0,
        learn_beta: bool = False,
        y: float = 0.0,
        learn_y: bool = False,
        semi_gradient: bool = False,
        channels: int | None = None,
    ) -> None:
        super().__init__()
        if semi_gradient and learn_beta:
            raise InputError("semi_gradient: expected False if beta is learned, since beta would have no gradient")
        _check_channels(channels, learn_beta or learn_y)
        self.beta = scalar("beta", beta, learn_beta, channels)
        self.y = scalar("y", y, learn_y, channels)
        self.initial = {"beta": float(beta), "y": float(y)}
        self.semi_gradient = semi_gradient

    def forward(
        self, x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None = None, eps: float | None = 1e-7
    ) -> Tensor:
        return ops.softmax(x, adjacency, edge, beta=self.beta, y=self.y, semi_gradient=self.semi_gradient, eps=eps)

    def dynamics(self) -> dict[str, float | list[float]]:
        return {"beta": present(self.beta), "y": present(self.y)}


class PowerMeanAggregation(Aggregation):
    """PowerMean_Agg_p (Proposition 5), scaled by the degree: |N(v)|^y (1/|N(v)| sum_u m_vu^p)^(1/p).

    Computed through logarithms, without clamps, for any finite p; 0 is the geometric mean. Messages must be positive,
    as those of equation (4) are.

    Args:
        p: the power, or its initial value. -1 is the harmonic mean, 1 the mean, infinity the maximum.
        learn_p: learn p.
        y: the exponent of the degree scaling, or its initial value. 0 is none; with p = 1, 1 is the sum.
        learn_y: learn y.
        channels: learn one value per channel instead of one for all.
    """

    p: Scalar
    y: Scalar

    @pyg_names({"learn": "learn_p"}, dict.fromkeys(("clamp_min", "clamp_max"), "the power mean has no clamps"))
    def __init__(
        self,
        p: float = 1.0,
        learn_p: bool = False,
        y: float = 0.0,
        learn_y: bool = False,
        channels: int | None = None,
    ) -> None:
        super().__init__()
        _check_channels(channels, learn_p or learn_y)
        self.p = scalar("p", p, learn_p, channels)
        self.y = scalar("y", y, learn_y, channels)
        self.initial = {"p": float(p), "y": float(y)}

    def forward(
        self, x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None = None, eps: float | None = 1e-7
    ) -> Tensor:
        return ops.power_mean(x, adjacency, edge, p=self.p, y=self.y, eps=eps)

    def dynamics(self) -> dict[str, float | list[float]]:
        return {"p": present(self.p), "y": present(self.y)}


class SumAggregation(Aggregation):
    """sum_u m_vu."""

    def forward(
        self, x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None = None, eps: float | None = 1e-7
    ) -> Tensor:
        return ops.sum(x, adjacency, edge, eps=eps)


class MeanAggregation(Aggregation):
    """1/|N(v)| sum_u m_vu."""

    def forward(
        self, x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None = None, eps: float | None = 1e-7
    ) -> Tensor:
        return ops.mean(x, adjacency, edge, eps=eps)


class MaxAggregation(Aggregation):
    """max_u m_vu."""

    def forward(
        self, x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None = None, eps: float | None = 1e-7
    ) -> Tensor:
        return ops.max(x, adjacency, edge, eps=eps)


class MinAggregation(Aggregation):
    """min_u m_vu."""

    def forward(
        self, x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None = None, eps: float | None = 1e-7
    ) -> Tensor:
        return ops.min(x, adjacency, edge, eps=eps)


class MultiAggregation(Aggregation):
    """Several aggregators of the same messages, concatenated: [targets, aggregators * channels]."""

    def __init__(self, aggregations: Sequence[Aggregation]) -> None:
        super().__init__()
        if not aggregations:
            raise InputError("aggr: expected at least one aggregator, got an empty list")
        self.aggregations = nn.ModuleList(aggregations)

    def forward(
        self, x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None = None, eps: float | None = 1e-7
    ) -> Tensor:
        return torch.cat([aggregation(x, adjacency, edge, eps) for aggregation in self.aggregations], dim=1)

    def reset_parameters(self) -> None:
        reset_children(self)

    def dynamics(self) -> dict[str, float | list[float]]:
        """The current values, numbered by aggregator: ``beta_0``, ``p_1``."""
        every = enumerate(a for a in self.aggregations if isinstance(a, Aggregation))
        return {f"{name}_{i}": value for i, a in every for name, value in a.dynamics().items()}

    def extra_repr(self) -> str:
        return ""


AGGREGATORS: dict[str, type[Aggregation]] = {
    "softmax": SoftmaxAggregation,
    "power_mean": PowerMeanAggregation,
    "sum": SumAggregation,
    "mean": MeanAggregation,
    "max": MaxAggregation,
    "min": MinAggregation,
}
"""Every aggregator by name."""


def build_aggregation(name: str, **options: Any) -> Aggregation:
    """Build an aggregator by its name here or in PyG, with the options of its class."""
    name = PYG_AGGREGATORS.get(name, name)
    if name not in AGGREGATORS:
        raise InputError(f"aggr: expected one of {', '.join(AGGREGATORS)}, got {name!r}")
    return AGGREGATORS[name](**options)


def _check_channels(channels: int | None, learned: bool) -> None:
    if channels is not None and not learned:
        raise InputError(
            "channels: expected None if nothing is learned, since a fixed value is the same for all channels"
        )
