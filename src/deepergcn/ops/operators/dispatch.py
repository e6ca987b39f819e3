"""From what a caller gives to what the CPU operators take, and the choice between them and plain PyTorch."""

import torch
from torch import Tensor

from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_inputs, check_parameter
from deepergcn.ops.edge import Affine, Dense, EdgeTerm, Table
from deepergcn.ops.kernels.cpu.intrinsics import MOST_FEATURES, WIDEST
from deepergcn.ops.operators.aggregation import Aggregate
from deepergcn.ops.path import on_plain_path
from deepergcn.ops.scaling import scale_by_degree


def has_kernels(x: Tensor) -> bool:
    """Whether the CPU kernels can work on ``x``."""
    return x.device.type == "cpu" and not on_plain_path()


def is_learned(parameter: Parameter) -> bool:
    """Whether backward will ask for the gradient of beta or p."""
    return isinstance(parameter, Tensor) and parameter.requires_grad and torch.is_grad_enabled()


def aggregate(
    operator: Aggregate,
    x: Tensor,
    adjacency: Adjacency,
    edge: EdgeTerm | Tensor | None,
    parameter: Parameter,
    y: Parameter,
    eps: float | None,
    *,
    option: int = 0,
) -> Tensor:
    """Check, bring to one precision, run ``operator`` on at most ``WIDEST`` channels at a time, scale by degree."""
    term = check_inputs(x, adjacency, edge, eps)
    check_parameter("y", y, x.shape[1])
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    wide = x.to(dtype)
    values = torch.as_tensor(parameter, dtype=dtype, device=x.device).expand(x.shape[1])
    graph = [
        adjacency.rowptr,
        adjacency.source,
        adjacency.edge,
        adjacency.rowptr_t,
        adjacency.target,
        adjacency.edge_t,
    ]
    tensors = _tensors(term, dtype)
    if x.shape[1] <= WIDEST:
        out = operator(wide, values, graph, tensors, eps, option)
    else:
        parts = [slice(start, start + WIDEST) for start in range(0, x.shape[1], WIDEST)]
        out = torch.cat(
            [operator(wide[:, part], values[part], graph, _narrow(tensors, part), eps, option) for part in parts], dim=1
        )
    return scale_by_degree(out, adjacency, y).to(x.dtype)


def _tensors(term: EdgeTerm | None, dtype: torch.dtype) -> list[Tensor]:
    """The tensors of an edge term as the operators take them; dense where the factored form would not serve."""
    match term:
        case None:
            return []
        case Affine(features, weight, bias) if features.shape[1] <= MOST_FEATURES and not features.requires_grad:
            shift = weight.new_zeros(weight.shape[0]) if bias is None else bias
            return [features.to(dtype), weight.to(dtype), shift.to(dtype)]
        case Table(codes, table):
            return [codes, table.to(dtype)]
        case _:
            return [Dense(term.materialize()).features.to(dtype)]


def _narrow(tensors: list[Tensor], part: slice) -> list[Tensor]:
    """The edge term of some of the channels."""
    match tensors:
        case [features]:
            return [features[:, part]]
        case [codes, table]:
            return [codes, table[:, part]]
        case [features, weight, bias]:
            return [features, weight[part], bias[part]]
    return []
