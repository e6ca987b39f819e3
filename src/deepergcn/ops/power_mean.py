"""PowerMean_Agg_p, fast: the definition is ``reference.power_mean``."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepergcn.ops import reference
from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_parameter, check_types
from deepergcn.ops.edge import EdgeTerm
from deepergcn.ops.kernels.contract import Gradients, Tensors, nonzero_power
from deepergcn.ops.kernels.cpu import power_mean as on_edges
from deepergcn.ops.kernels.cpu import power_mean_nodes as on_nodes
from deepergcn.ops.kernels.cpu.affine.backward_step import POWER_MEAN
from deepergcn.ops.operators import affine
from deepergcn.ops.operators.aggregation import register
from deepergcn.ops.operators.cpu import Array, array, chunk_count, edge_arrays, floor_and_eps, run_backward
from deepergcn.ops.operators.device import has_kernels
from deepergcn.ops.operators.dispatch import aggregate, is_learned
from deepergcn.ops.operators.node_path import message_range, on_edge_path, target_shares, untouched
from deepergcn.ops.plain import SPREAD
from deepergcn.ops.reference import EPS

_LEAST_ON_NODES = 0.5
"""Below it the division by p would cost the node path digits that the edge path keeps."""


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
        p: the power: a number, a scalar tensor, or one value per channel.
        y: the power of the degree scaling.
        eps: the constant of equation (4); None takes h_u + h_e as the messages, which must then be positive.

    Returns:
        [targets, channels]; 0 for a vertex without in-neighbours.
    """
    check_types(x, adjacency)
    check_parameter("p", p, x.shape[-1], x.device)
    if not has_kernels(x):
        return reference.power_mean(x, adjacency, edge, p=p, y=y, eps=eps)
    return aggregate(_operator, x, adjacency, edge, p, y, eps, option=int(is_learned(p)))


def _forward(x: Tensor, p: Tensor, graph: Tensors, edge: Tensors, eps: float | None, learn: int) -> list[Tensor]:
    """[out, relative, dominant, total, slope, shift] as the kernels name them; ``shift`` is infinite on the edge path.

    There is no slope where p is not learned.
    """
    out, relative, dominant, total, slope, shift = _shapes(x, p, graph, edge, eps, learn)
    values, powers = array(x), array(nonzero_power(p))
    if affine.fits(x, edge):
        outputs = (out, relative, dominant, total, slope)
        affine.run_forward(x, graph, edge, eps, outputs, np.sign(powers), powers, 1 / powers)
        return [*outputs, shift.fill_(torch.inf)]
    bounds = floor_and_eps(eps, values)
    chunks = chunk_count(graph, x.shape[1])
    rowptr, source, place = (array(t) for t in graph[:3])
    one = None if edge else _one_shift(chunks, values, powers, *bounds)
    if one is None:
        on_edges.forward(
            chunks,
            rowptr,
            source,
            place,
            values,
            edge_arrays(edge),
            *bounds,
            np.sign(powers),
            powers,
            *(array(t) for t in (out, relative, dominant, total, slope)),
        )
        return [out, relative, dominant, total, slope, shift.fill_(torch.inf)]
    strengths = powers.astype(np.float64)
    raised = np.empty((values.shape[0], 2 if learn else 1, values.shape[1]), values.dtype)
    on_nodes.powers_of(chunks, values, *bounds, strengths, one, raised)
    on_nodes.forward(chunks, rowptr, source, raised, strengths, one, *(array(t) for t in (out, relative, total, slope)))
    return [out, relative, untouched(dominant), total, slope, shift.copy_(torch.from_numpy(one))]


def _one_shift(chunks: int, x: Array, p: Array, floor: Any, eps: Any) -> Array | None:
    """The dominant message of each channel over all nodes; None where a power is small or a spread too large.

    None for float64 as well: there is nothing wider to keep its logarithms in.
    """
    if not x.size or x.dtype == np.float64 or np.abs(p).min() < _LEAST_ON_NODES:
        return None
    least, most = message_range(chunks, x, floor, eps)
    with np.errstate(invalid="ignore", divide="ignore"):
        safe = (least > 0) & (np.abs(p) * np.log(most / least) <= SPREAD)
    return np.where(p >= 0, most, least).astype(x.dtype) if safe.all() else None


def _backward(
    g: Tensor,
    x: Tensor,
    p: Tensor,
    graph: Tensors,
    edge: Tensors,
    eps: float | None,
    learn: int,
    kept: Tensors,
) -> Gradients:
    relative, dominant, total, slope, shift = kept
    chunks = chunk_count(graph, x.shape[1])
    _, shares, dp = target_shares(chunks, g, relative, total, slope, both=False)
    if affine.fits(x, edge):
        rows = (dominant, torch.from_numpy(shares))
        dx, d_edge, _ = affine.run_backward(x, graph, edge, eps, rows, slope=(array(p) - 1) / 2, kind=POWER_MEAN)
        return dx, d_edge, dp
    if on_edge_path(x, shift):
        rule = (nonzero_power(p), dominant, torch.from_numpy(shares))
        dx, d_edge, _ = run_backward(x, graph, edge, eps, rule)
        return dx, d_edge, dp
    values = array(x)
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    rowptr, target, _ = (array(t) for t in graph[3:])
    on_nodes.backward(
        chunks,
        rowptr,
        target,
        values,
        *floor_and_eps(eps, values),
        array(p.double()),
        array(shift.to(x.dtype)),
        shares,
        array(dx),
    )
    return dx, [], dp


def _shapes(x: Tensor, p: Tensor, graph: Tensors, edge: Tensors, eps: float | None, learn: int) -> list[Tensor]:
    targets, channels = graph[0].shape[0] - 1, x.shape[1]
    for_targets = [x.new_empty(rows, channels) for rows in (*[targets] * 4, targets if learn else 0)]
    return [*for_targets, x.new_empty(channels, dtype=torch.float64)]


def _definition(
    x: Tensor, adjacency: Adjacency, edge: EdgeTerm | None, p: Tensor, eps: float | None, learn: int
) -> Tensor:
    return reference.power_mean(x, adjacency, edge, p=p, eps=eps)


_operator = register("power_mean", _forward, _backward, _shapes, _definition, keeps_out=False)
