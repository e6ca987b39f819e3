"""SoftMax_Agg_beta, fast: the definition is ``reference.softmax``, the plan is in the kernels' own words."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepergcn.ops import plain, reference
from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_parameter, check_types
from deepergcn.ops.edge import EdgeTerm
from deepergcn.ops.kernels.contract import FIXED, LEARNED, SEMI_GRADIENT, Gradients, Tensors
from deepergcn.ops.kernels.cpu import softmax as on_edges
from deepergcn.ops.kernels.cpu import softmax_alone as alone
from deepergcn.ops.kernels.cpu import softmax_messages as on_messages
from deepergcn.ops.kernels.cpu import softmax_nodes as on_nodes
from deepergcn.ops.kernels.cpu.machine.lanes import LANES
from deepergcn.ops.kernels.recycled import empty
from deepergcn.ops.operators import affine
from deepergcn.ops.operators.aggregation import register
from deepergcn.ops.operators.cpu import Array, array, chunk_count, edge_arrays, floor_and_eps, in_blocks, run_backward
from deepergcn.ops.operators.device import has_kernels
from deepergcn.ops.operators.dispatch import aggregate, is_learned
from deepergcn.ops.operators.node_path import message_range, on_edge_path, target_shares, untouched
from deepergcn.ops.plain import SPREAD
from deepergcn.ops.reference import EPS

_BEYOND_CACHE = 1 << 23  # bytes of features, from which on reading them costs more than an exponential an edge


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
        beta: the inverse temperature: a number, a scalar tensor, or one value per channel.
        y: the power of the degree scaling.
        semi_gradient: hold the weights constant in backward.
        eps: the constant of equation (4); None takes h_u + h_e as the messages.

    Returns:
        [targets, channels]; 0 for a vertex without in-neighbours.

    Examples:
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
    check_types(x, adjacency)
    check_parameter("beta", beta, x.shape[-1], x.device)
    if semi_gradient and isinstance(beta, Tensor):
        beta = beta.detach()  # weights that are constants lead to no beta
    if not has_kernels(x):
        return plain.softmax(x, adjacency, edge, beta=beta, y=y, semi_gradient=semi_gradient, eps=eps)

    mode = SEMI_GRADIENT if semi_gradient else LEARNED if is_learned(beta) else FIXED
    return aggregate(_operator, x, adjacency, edge, beta, y, eps, option=mode)


def _forward(x: Tensor, beta: Tensor, graph: Tensors, edge: Tensors, eps: float | None, mode: int) -> list[Tensor]:
    """[out, dominant, offset, total, variance, shift, origin] as the kernels name them.

    ``shift`` is infinite where the edge path was taken, and ``variance`` has no rows where beta is not learned.
    """
    out, dominant, offset, total, variance, shift, origin = _shapes(x, beta, graph, edge, eps, mode)
    if affine.fits(x, edge):
        affine.run_forward(x, graph, edge, eps, (out, dominant, offset, total), _sign(array(beta)), array(beta))
        return [out, dominant, offset, total, variance, shift.fill_(torch.inf), origin.zero_()]
    values = array(x)
    bounds = floor_and_eps(eps, values)
    chunks = chunk_count(graph, x.shape[1])
    rowptr, source, place = (array(t) for t in graph[:3])
    one = None if edge else _one_shift(chunks, values, array(beta), *bounds)
    if one is None:
        on_edges.forward(
            chunks,
            rowptr,
            source,
            place,
            values,
            edge_arrays(edge),
            *bounds,
            _sign(array(beta)),
            array(beta),
            *(array(t) for t in (out, dominant, offset, total)),
        )
        return [out, dominant, offset, total, variance, shift.fill_(torch.inf), origin.zero_()]
    shift.copy_(torch.from_numpy(one[0]))
    origin.copy_(torch.from_numpy(one[1]))
    if mode != LEARNED and _beyond_cache(values):
        constants = in_blocks(np.stack([array(beta), *one]).astype(np.float32))
        on_messages.forward(
            chunks, rowptr, source, values, constants, *bounds, *(array(t) for t in (out, offset, total))
        )
        return [out, untouched(dominant), offset, total, variance, shift, origin]
    powers = np.empty((values.shape[0], 2, values.shape[1]), values.dtype)
    on_nodes.exponentials(chunks, values, *bounds, array(beta.double()), array(shift), array(origin), powers)
    on_nodes.forward(
        chunks,
        rowptr,
        source,
        array(origin),
        powers,
        *(array(t) for t in (out, offset, total, variance)),
    )
    return [out, untouched(dominant), offset, total, variance, shift, origin]


def _forward_alone(
    x: Tensor, beta: Tensor, graph: Tensors, edge: Tensors, eps: float | None, mode: int
) -> list[Tensor]:
    """[out], where nothing is kept for backward; a table of edge terms, as of molecules, has a kernel of its own."""
    if len(edge) != 2 or x.dtype != torch.float32:
        return _forward(x, beta, graph, edge, eps, FIXED)
    none, nodes = x.new_zeros(1, x.shape[1]), x.new_zeros(x.shape[0], dtype=torch.int64)
    return [run_alone(x, beta, graph, edge, eps, none, nodes, own=False)]


def run_alone(
    x: Tensor,
    beta: Tensor,
    graph: Tensors,
    edge: Tensors,
    eps: float | None,
    told: Tensor,
    graphs: Tensor,
    *,
    own: bool,
) -> Tensor:
    """The kernel without a backward, of float32 features x_u + told_g and a table; with ``own`` plus h_v itself."""
    values, inverse_temperature = array(x), array(beta)
    out = x.new_empty(graph[0].shape[0] - 1, x.shape[1])
    alone.forward(
        1 if torch.get_num_threads() == 1 else chunk_count(graph, x.shape[1]),  # no result depends on the chunks
        *(array(t) for t in graph[:3]),
        values,
        *edge_arrays(edge),
        array(told),
        array(graphs),
        own,
        *floor_and_eps(eps, values),
        _sign(inverse_temperature),
        inverse_temperature,
        array(out),
    )
    return out


def _sign(beta: Array) -> Array:
    """1 or, for a negative beta, -1."""
    return np.where(beta >= 0, 1, -1).astype(beta.dtype)


def _one_shift(chunks: int, x: Array, beta: Array, floor: Any, eps: Any) -> tuple[Array, Array] | None:
    """The dominant message of each channel over all nodes, and the point nearest 0 between its smallest and its largest
    message; None where a channel's spread is too large.
    """
    if not x.size:
        return None
    least, most = message_range(chunks, x, floor, eps)
    with np.errstate(over="ignore", invalid="ignore"):
        safe = np.abs(beta) * (most - least) <= SPREAD
    return (np.where(beta >= 0, most, least), np.clip(0.0, least, most)) if safe.all() else None


def _beyond_cache(x: Array) -> bool:
    return x.dtype == np.float32 and x.shape[1] >= LANES and x.nbytes >= _BEYOND_CACHE


def _backward(
    g: Tensor,
    x: Tensor,
    beta: Tensor,
    graph: Tensors,
    edge: Tensors,
    eps: float | None,
    mode: int,
    kept: Tensors,
) -> Gradients:
    dominant, offset, total, variance, shift, origin = kept
    slope = torch.zeros_like(beta) if mode == SEMI_GRADIENT else beta
    if affine.fits(x, edge):
        return affine.run_backward(x, graph, edge, eps, (dominant, offset, g / total), array(beta), array(slope))
    if on_edge_path(x, shift):
        return run_backward(x, graph, edge, eps, (beta, slope, dominant, offset, g / total))
    values = array(x)
    dx = empty(x, *x.shape)
    chunks = chunk_count(graph, x.shape[1])
    share, product, dbeta = target_shares(chunks, g, offset, total, variance, both=True)
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
        array(origin),
        share,
        product,
        array(dx),
    )
    return dx, [], dbeta


def _shapes(x: Tensor, beta: Tensor, graph: Tensors, edge: Tensors, eps: float | None, mode: int) -> list[Tensor]:
    targets, channels = graph[0].shape[0] - 1, x.shape[1]
    varying = 0 if edge or mode != LEARNED else targets
    out, offset, total, variance = (empty(x, rows, channels) for rows in (targets, targets, targets, varying))
    for_targets = (out, x.new_empty(targets, channels), offset, total, variance)
    return [*for_targets, x.new_empty(channels, dtype=torch.float64), x.new_empty(channels)]


def _definition(
    x: Tensor, adjacency: Adjacency, edge: EdgeTerm | None, beta: Tensor, eps: float | None, mode: int
) -> Tensor:
    return reference.softmax(x, adjacency, edge, beta=beta, eps=eps, semi_gradient=mode == SEMI_GRADIENT)


_operator = register("softmax", _forward, _backward, _shapes, _definition, keeps_out=False, alone=_forward_alone)
