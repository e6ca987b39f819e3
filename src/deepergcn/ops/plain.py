"""Where the CPU kernels do not run, on another device or without Numba, plain PyTorch takes over with the same results.

Sums over neighbours without edge features are torch's own sparse product; all the rest are the definitions.
"""

import warnings
from typing import Any

import torch
from torch import Tensor

from deepergcn.ops import reference
from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_inputs, check_parameter
from deepergcn.ops.edge import EdgeTerm
from deepergcn.ops.path import on_plain_path
from deepergcn.ops.reference import EPS, max, min, power_mean
from deepergcn.ops.scaling import scale_by_degree

__all__ = ["SPREAD", "max", "mean", "min", "power_mean", "softmax", "sum"]

SPREAD = 40.0
"""The largest |beta| (max m - min m) of a channel for which one shift serves all vertices; exp(-40) is far from 0."""


def sum(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """``reference.sum``."""
    if edge is not None or not _is_eager(x):
        return reference.sum(x, adjacency, edge, y=y, eps=eps)
    check_inputs(x, adjacency, edge, eps)
    return scale_by_degree(_add(_node_messages(x, eps), adjacency), adjacency, y).to(x.dtype)


def mean(
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None = None,
    *,
    y: Parameter = 0.0,
    eps: float | None = EPS,
) -> Tensor:
    """``reference.mean``."""
    if edge is not None or not _is_eager(x):
        return reference.mean(x, adjacency, edge, y=y, eps=eps)
    check_inputs(x, adjacency, edge, eps)
    added = _add(_node_messages(x, eps), adjacency)
    averaged = added / adjacency.degree(added.dtype).clamp(min=1)[:, None]
    return scale_by_degree(averaged, adjacency, y).to(x.dtype)


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
    """``reference.softmax``: exponentials once per node where the spread allows it, edge by edge where not."""
    check_parameter("beta", beta, x.shape[-1])
    check_inputs(x, adjacency, edge, eps)
    m = _node_messages(x, eps)
    beta_ = torch.as_tensor(beta, dtype=m.dtype, device=m.device)
    if edge is not None or not _is_eager(x) or not _one_shift_serves(m, beta_):
        return reference.softmax(x, adjacency, edge, beta=beta, y=y, semi_gradient=semi_gradient, eps=eps)
    shift = torch.where(beta_ >= 0, m.amax(dim=0), m.amin(dim=0)).detach()
    e = torch.exp(beta_.double() * (m.double() - shift)).to(m.dtype)
    if semi_gradient:
        e = e.detach()
    origin = torch.zeros_like(shift).clamp(*torch.aminmax(m.detach(), dim=0))  # no m - origin is larger than m
    total, weighted = _add(torch.cat([e, e * (m - origin)], dim=1), adjacency).chunk(2, dim=1)
    out = torch.where(total > 0, origin + weighted / torch.where(total > 0, total, 1.0), 0.0)
    return scale_by_degree(out, adjacency, y).to(x.dtype)


def _is_eager(x: Tensor) -> bool:
    """Whether ``x`` has numbers that can be looked at, and sparse products serve: nothing is traced or transformed."""
    return x.device.type != "meta" and not torch.compiler.is_compiling() and not on_plain_path()


def _node_messages(x: Tensor, eps: float | None) -> Tensor:
    """Equation (4) without edge features: the message depends on its source alone."""
    x = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
    return x if eps is None else x.relu() + eps


def _one_shift_serves(m: Tensor, beta: Tensor) -> bool:
    if not m.numel():
        return False
    low, high = torch.aminmax(m.detach(), dim=0)
    return bool((beta.detach().abs() * (high - low) <= SPREAD).all())


class _SparseProduct(torch.autograd.Function):
    """The sum over in-neighbours; its backward is the sum over out-neighbours, for which the transpose is at hand."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, adjacency: Adjacency) -> Tensor:
        ctx.adjacency = adjacency
        return _multiply(rows, adjacency)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _multiply(grads[0], ctx.adjacency.transpose()), None


def _add(rows: Tensor, adjacency: Adjacency) -> Tensor:
    out: Tensor = _SparseProduct.apply(rows, adjacency)  # type: ignore[no-untyped-call]
    return out


def _multiply(rows: Tensor, adjacency: Adjacency) -> Tensor:
    ones = rows.new_ones(adjacency.num_edges)
    size = (adjacency.num_targets, adjacency.num_sources)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        matrix = torch.sparse_csr_tensor(adjacency.rowptr, adjacency.source, ones, size=size, check_invariants=False)
    product: Tensor = torch.sparse.mm(matrix, rows)
    return product
