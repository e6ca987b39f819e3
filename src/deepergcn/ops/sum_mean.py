"""Sum and mean of the messages, fast: the definitions are ``reference.sum`` and ``reference.mean``."""

from typing import Any

import torch
from torch import Tensor

from deepergcn.ops import plain, reference
from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_types
from deepergcn.ops.edge import EdgeTerm
from deepergcn.ops.kernels.contract import Gradients, Tensors
from deepergcn.ops.kernels.cpu import sum_mean as kernels
from deepergcn.ops.operators import affine, device
from deepergcn.ops.operators.aggregation import is_eager, needs_definition, register
from deepergcn.ops.operators.cpu import array, chunk_count, edge_arrays, floor_and_eps, run_backward
from deepergcn.ops.operators.device import has_kernels
from deepergcn.ops.operators.dispatch import aggregate
from deepergcn.ops.operators.heap import gives_back
from deepergcn.ops.path import is_forward_only
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


_registered = register("sum_mean", _forward, _backward, _shapes, _definition, keeps_out=False)
_sum = gives_back(_forward)


def _operator(x: Tensor, unused: Tensor, graph: Tensors, edge: Tensors, eps: float | None, average: int) -> Tensor:
    if eps is not None or edge or is_forward_only() or not is_eager(x) or device.on_gpu(x):
        return _registered(x, unused, graph, edge, eps, average)
    out: Tensor = _Linear.apply(x, graph)  # type: ignore[no-untyped-call]
    return out / _degree(graph, x.dtype) if average else out


class _Linear(torch.autograd.Function):
    """The sum of x itself: backward is the sum over the reversed edges, for which x need not be kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, graph: Tensors) -> Tensor:
        ctx.graph, ctx.num_sources = graph, x.shape[0]
        return _sum(x, x, graph, (), None, 0)[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        [g], reversed_graph = grads, [*ctx.graph[3:], *ctx.graph[:3]]
        if needs_definition():
            return reference.sum(g, Adjacency(g.shape[0], ctx.num_sources, *reversed_graph), eps=None), None
        return _sum(g, g, reversed_graph, (), None, 0)[0], None
