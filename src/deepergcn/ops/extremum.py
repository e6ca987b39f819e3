"""Max and min of the messages, fast: the definitions are ``reference.max`` and ``reference.min``."""

import torch
from torch import Tensor

from deepergcn.ops import reference
from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_types
from deepergcn.ops.edge import EdgeTerm
from deepergcn.ops.kernels.contract import Gradients, Tensors
from deepergcn.ops.kernels.cpu import extremum as kernels
from deepergcn.ops.operators import affine
from deepergcn.ops.operators.aggregation import register
from deepergcn.ops.operators.cpu import array, chunk_count, edge_arrays, floor_and_eps, run_backward
from deepergcn.ops.operators.device import has_kernels
from deepergcn.ops.operators.dispatch import aggregate
from deepergcn.ops.reference import EPS


def max(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """max_u m_vu, times |N(v)|^y; messages that tie for it share the gradient evenly. Arguments as in ``softmax``."""
    check_types(x, adjacency)
    if not has_kernels(x):
        return reference.max(x, adjacency, edge, y=y, eps=eps)
    return aggregate(_operator, x, adjacency, edge, 0.0, y, eps, option=0)


def min(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """min_u m_vu, times |N(v)|^y; messages that tie for it share the gradient evenly. Arguments as in ``softmax``."""
    check_types(x, adjacency)
    if not has_kernels(x):
        return reference.min(x, adjacency, edge, y=y, eps=eps)
    return aggregate(_operator, x, adjacency, edge, 0.0, y, eps, option=1)


def _forward(
    x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, smallest: int
) -> list[Tensor]:
    """[out, ties]: the extremum, and how many messages reach it."""
    out, ties = _shapes(x, unused, graph, edge, eps, smallest)
    if affine.fits(x, edge):
        affine.run_forward(x, graph, edge, eps, (out, ties), -1.0 if smallest else 1.0)
        return [out, ties]
    values = array(x)
    kernels.forward(
        chunk_count(graph, x.shape[1]),
        *(array(t) for t in graph[:3]),
        values,
        edge_arrays(edge),
        *floor_and_eps(eps, values),
        values.dtype.type(-1 if smallest else 1),
        array(out),
        array(ties),
    )
    return [out, ties]


def _backward(
    g: Tensor,
    x: Tensor,
    unused: Tensor,
    graph: Tensors,
    edge: Tensors,
    eps: float | None,
    smallest: int,
    kept: Tensors,
) -> Gradients:
    out, ties = kept
    run = affine.run_backward if affine.fits(x, edge) else run_backward
    dx, d_edge, _ = run(x, graph, edge, eps, (out, g / ties))
    return dx, d_edge, torch.zeros_like(unused)


def _shapes(x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, smallest: int) -> list[Tensor]:
    return [x.new_empty(graph[0].shape[0] - 1, x.shape[1]) for _ in range(2)]


def _definition(
    x: Tensor, adjacency: Adjacency, edge: EdgeTerm | None, unused: Tensor, eps: float | None, smallest: int
) -> Tensor:
    return (reference.min if smallest else reference.max)(x, adjacency, edge, eps=eps)


_operator = register("extremum", _forward, _backward, _shapes, _definition)
