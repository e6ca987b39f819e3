"""PowerMean_Agg_p, fast: the definition is ``reference.power_mean``."""

import numpy as np
import torch
from torch import Tensor

from deepergcn.ops import reference
from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_parameter
from deepergcn.ops.cpu import array, chunk_count, edge_arrays, floor_and_eps, run_backward
from deepergcn.ops.dispatch import aggregate, has_kernels
from deepergcn.ops.edge import EdgeTerm
from deepergcn.ops.kernels import power_mean as kernels
from deepergcn.ops.operator import Gradients, Tensors, register
from deepergcn.ops.reference import EPS

_GEOMETRIC = 1e-20
"""A p nearer 0 than this gives the geometric mean to the last digit, and this p gives it too."""


def power_mean(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    p: Parameter = 1.0,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    r"""PowerMean_Agg_p of the messages m_vu = ReLU(h_u + h_e) + eps (Proposition 5):

    .. math:: |N(v)|^y \Big( \frac{1}{|N(v)|} \sum_{u \in N(v)} m_{vu}^p \Big)^{1/p}

    It is the harmonic mean at p = -1, the geometric at p = 0, the arithmetic at p = 1, max as p grows; exact for every
    finite p, without clamps.

    Args:
        x: [sources, channels].
        adjacency: who sends to whom.
        edge: the edge term h_e, factored (``Affine``, ``Table``) or dense; None for none.
        p: the power: a number, a scalar tensor, or one value a channel.
        y: the power of the degree scaling.
        eps: the constant of equation (4); None takes h_u + h_e as the messages, which must then be positive.

    Returns:
        [targets, channels]; 0 for a vertex without in-neighbours.
    """
    check_parameter("p", p, x.shape[-1])
    if not has_kernels(x):
        return reference.power_mean(x, adjacency, edge, p=p, y=y, eps=eps)
    learn = isinstance(p, Tensor) and p.requires_grad
    return aggregate(_operator, x, adjacency, edge, p, y, eps, option=learn)


def _forward(x: Tensor, p: Tensor, graph: Tensors, edge: Tensors, eps: float | None, learn: bool) -> list[Tensor]:
    """[out, dominant, total, slope] as the kernel names them; no slope where p is not learned."""
    out, dominant, total, slope = _shapes(x, p, graph, edge, eps, learn)
    values, powers = array(x), _nonzero(p)
    kernels.forward(
        chunk_count(graph, x.shape[1]),
        *(array(t) for t in graph[:3]),
        values,
        edge_arrays(edge),
        *floor_and_eps(eps, values),
        np.sign(array(powers)),
        array(powers),
        *(array(t) for t in (out, dominant, total, slope)),
    )
    return [out, dominant, total, slope]


def _nonzero(p: Tensor) -> Tensor:
    return torch.where(p.abs() < _GEOMETRIC, _GEOMETRIC, p)


def _backward(
    g: Tensor,
    x: Tensor,
    p: Tensor,
    graph: Tensors,
    edge: Tensors,
    eps: float | None,
    learn: bool,
    kept: Tensors,
) -> Gradients:
    out, dominant, total, slope = kept
    g_out = g * out
    dp = (g_out * slope).sum(dim=0) if learn else torch.zeros_like(p)
    dx, d_edge, _ = run_backward(x, graph, edge, eps, (_nonzero(p), dominant, g_out / total))
    return dx, d_edge, dp


def _shapes(x: Tensor, p: Tensor, graph: Tensors, edge: Tensors, eps: float | None, learn: bool) -> list[Tensor]:
    targets, channels = graph[0].shape[0] - 1, x.shape[1]
    return [x.new_empty(rows, channels) for rows in (targets, targets, targets, targets if learn else 0)]


_operator = register("power_mean", _forward, _backward, _shapes)
