"""SoftMax_Agg_beta, fast: the definition is ``reference.softmax``, the plan is in the kernels' own words."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepergcn.ops import plain, reference
from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_parameter
from deepergcn.ops.cpu import Array, array, chunk_count, edge_arrays, floor_and_eps, run_backward
from deepergcn.ops.dispatch import aggregate, has_kernels
from deepergcn.ops.edge import EdgeTerm
from deepergcn.ops.kernels.cpu import softmax as on_edges
from deepergcn.ops.kernels.cpu import softmax_nodes as on_nodes
from deepergcn.ops.node_path import message_range, on_edge_path, untouched
from deepergcn.ops.operator import Gradients, Tensors, register
from deepergcn.ops.plain import SPREAD
from deepergcn.ops.reference import EPS


def softmax(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    beta: Parameter = 1.0,
    y: Parameter = 0.0,
    semi_gradient: bool = False,
    eps: float | None = EPS,
) -> Tensor:
    r"""SoftMax_Agg_beta of the messages m_vu = ReLU(h_u + h_e) + eps (Proposition 4):

    .. math:: |N(v)|^y \sum_{u \in N(v)} \frac{\exp(\beta m_{vu})}{\sum_i \exp(\beta m_{vi})} m_{vu}

    Args:
        x: [sources, channels].
        adjacency: who sends to whom.
        edge: the edge term h_e, factored (``Affine``, ``Table``) or dense; None for none.
        beta: the inverse temperature: a number, a scalar tensor, or one value a channel.
        y: the power of the degree scaling.
        semi_gradient: hold the weights constant in backward.
        eps: the constant of equation (4); None takes h_u + h_e as the messages.

    Returns:
        [targets, channels]; 0 for a vertex without in-neighbours.

    Example:
        Vertex 2 receives the messages 1 and 3: their mean with beta = 0, nearly their maximum with a large beta.

        >>> import torch
        >>> from deepergcn.ops import Adjacency, softmax
        >>> adjacency = Adjacency.from_edge_index(torch.tensor([[0, 1], [2, 2]]), 3)
        >>> x = torch.tensor([[1.0], [3.0], [0.0]])
        >>> softmax(x, adjacency, beta=0.0, eps=0.0).flatten().tolist()
        [0.0, 0.0, 2.0]
        >>> softmax(x, adjacency, beta=100.0, eps=0.0).flatten().tolist()
        [0.0, 0.0, 3.0]
    """
    check_parameter("beta", beta, x.shape[-1])
    if not has_kernels(x):
        return plain.softmax(x, adjacency, edge, beta=beta, y=y, semi_gradient=semi_gradient, eps=eps)

    return aggregate(_operator, x, adjacency, edge, beta, y, eps, option=semi_gradient)


def _forward(
    x: Tensor, beta: Tensor, graph: Tensors, edge: Tensors, eps: float | None, semi_gradient: bool
) -> list[Tensor]:
    """[out, dominant, total, shift] as the kernels name them; ``shift`` is infinite where the edge path was taken."""
    out, dominant, total, shift = _shapes(x, beta, graph, edge, eps, semi_gradient)
    values = array(x)
    bounds = floor_and_eps(eps, values)
    chunks = chunk_count(graph, x.shape[1])
    rowptr, source, place = (array(t) for t in graph[:3])
    one = None if edge else _one_shift(chunks, values, array(beta), *bounds)
    if one is None:
        sign = np.where(array(beta) >= 0, 1, -1).astype(values.dtype)
        on_edges.forward(
            chunks,
            rowptr,
            source,
            place,
            values,
            edge_arrays(edge),
            *bounds,
            sign,
            array(beta),
            array(out),
            array(dominant),
            array(total),
        )
        return [out, dominant, total, shift.fill_(torch.inf)]
    powers = np.empty((values.shape[0], 2, values.shape[1]), values.dtype)
    on_nodes.exponentials(chunks, values, *bounds, array(beta.double()), one, powers)
    on_nodes.forward(chunks, rowptr, source, powers, array(out), array(total))
    return [out, untouched(dominant), total, shift.copy_(torch.from_numpy(one))]


def _one_shift(chunks: int, x: Array, beta: Array, floor: Any, eps: Any) -> Array | None:
    """The dominant message of each channel over all nodes, or None where the channel's spread is too large."""
    if not x.size:
        return None
    least, most = message_range(chunks, x, floor, eps)
    with np.errstate(over="ignore", invalid="ignore"):
        safe = np.abs(beta) * (most - least) <= SPREAD
    return np.where(beta >= 0, most, least) if safe.all() else None


def _backward(
    g: Tensor,
    x: Tensor,
    beta: Tensor,
    graph: Tensors,
    edge: Tensors,
    eps: float | None,
    semi_gradient: bool,
    kept: Tensors,
) -> Gradients:
    out, dominant, total, shift = kept
    slope = torch.zeros_like(beta) if semi_gradient else beta
    if on_edge_path(x, shift):
        return run_backward(x, graph, edge, eps, (beta, slope, dominant, out, g / total))
    values = array(x)
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    chunks = chunk_count(graph, x.shape[1])
    shares = np.empty((g.shape[0], 2, g.shape[1]), values.dtype)
    on_nodes.divide(chunks, array(g), array(out), array(total), shares)
    totals = torch.zeros(chunks, x.shape[1], dtype=torch.float64)
    rowptr, target, _ = (array(t) for t in graph[3:])
    on_nodes.backward(
        chunks,
        rowptr,
        target,
        values,
        *floor_and_eps(eps, values),
        array(beta.double()),
        array(slope),
        array(shift),
        shares,
        array(dx),
        array(totals),
    )
    dbeta = torch.zeros_like(beta) if semi_gradient else totals.sum(dim=0).to(x.dtype)
    return dx, [], dbeta


def _shapes(
    x: Tensor, beta: Tensor, graph: Tensors, edge: Tensors, eps: float | None, semi_gradient: bool
) -> list[Tensor]:
    for_targets = [x.new_empty(graph[0].shape[0] - 1, x.shape[1]) for _ in range(3)]
    return [*for_targets, x.new_empty(x.shape[1], dtype=torch.float64)]


def _definition(
    x: Tensor, adjacency: Adjacency, edge: EdgeTerm | None, beta: Tensor, eps: float | None, semi_gradient: bool
) -> Tensor:
    return reference.softmax(x, adjacency, edge, beta=beta, eps=eps, semi_gradient=semi_gradient)


_operator = register("softmax", _forward, _backward, _shapes, _definition)
