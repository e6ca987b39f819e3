"""Sum and mean of the messages, fast: the definitions are ``reference.sum`` and ``reference.mean``."""

import torch
from torch import Tensor

from deepergcn.ops import plain, reference
from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_types
from deepergcn.ops.edge import EdgeTerm
from deepergcn.ops.kernels.contract import Gradients, Tensors
from deepergcn.ops.kernels.cpu import sum_mean as kernels
from deepergcn.ops.operators import affine
from deepergcn.ops.operators.aggregation import register
from deepergcn.ops.operators.cpu import array, chunk_count, edge_arrays, floor_and_eps, run_backward
from deepergcn.ops.operators.device import has_kernels
from deepergcn.ops.operators.dispatch import aggregate
from deepergcn.ops.reference import EPS


def sum(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """sum_u m_vu, times |N(v)|^y. Arguments as in ``softmax``."""
    check_types(x, adjacency)
    if not has_kernels(x):
        return plain.sum(x, adjacency, edge, y=y, eps=eps)
    return aggregate(_operator, x, adjacency, edge, 0.0, y, eps)


def mean(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """1/|N(v)| sum_u m_vu, times |N(v)|^y. Arguments as in ``softmax``."""
    check_types(x, adjacency)
    if not has_kernels(x):
        return plain.mean(x, adjacency, edge, y=y, eps=eps)
    return aggregate(_operator, x, adjacency, edge, 0.0, y, eps, option=1)


def _forward(x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, average: int) -> list[Tensor]:
    [out] = _shapes(x, unused, graph, edge, eps, average)
    if affine.fits(x, edge):
        affine.run_forward(x, graph, edge, eps, (out,))
    else:
        values = array(x)
        kernels.forward(
            chunk_count(graph, x.shape[1]),
            *(array(t) for t in graph[:3]),
            values,
            edge_arrays(edge),
            *floor_and_eps(eps, values),
            array(out),
        )
    return [out.div_(_degree(graph, x.dtype)) if average else out]


def _backward(
    g: Tensor,
    x: Tensor,
    unused: Tensor,
    graph: Tensors,
    edge: Tensors,
    eps: float | None,
    average: int,
    kept: Tensors,
) -> Gradients:
    share = g / _degree(graph, g.dtype) if average else g
    run = affine.run_backward if affine.fits(x, edge) else run_backward
    dx, d_edge, _ = run(x, graph, edge, eps, (share,))
    return dx, d_edge, torch.zeros_like(unused)


def _degree(graph: Tensors, dtype: torch.dtype) -> Tensor:
    """|N(v)| for every target, 1 for one without in-neighbours, [targets, 1]."""
    rowptr = graph[0]
    return (rowptr[1:] - rowptr[:-1]).clamp(min=1).to(dtype)[:, None]


def _shapes(x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, average: int) -> list[Tensor]:
    return [x.new_empty(graph[0].shape[0] - 1, x.shape[1])]


def _definition(
    x: Tensor, adjacency: Adjacency, edge: EdgeTerm | None, unused: Tensor, eps: float | None, average: int
) -> Tensor:
    return (reference.mean if average else reference.sum)(x, adjacency, edge, eps=eps)


_operator = register("sum_mean", _forward, _backward, _shapes, _definition, keeps_out=False)
