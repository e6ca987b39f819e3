"""From what a caller gives to what the operators take on its device."""

import math

import torch
from torch import Tensor

from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_inputs, check_parameter
from deepergcn.ops.edge import Affine, EdgeTerm, Table
from deepergcn.ops.kernels.cpu.machine.arrays import MOST_FEATURES, WIDEST
from deepergcn.ops.operators import device
from deepergcn.ops.operators.aggregation import Aggregate
from deepergcn.ops.scaling import scale_by_degree


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
    """Check, run ``operator`` on what its device takes, scale by degree.

    A CPU takes one precision and at most ``WIDEST`` channels at a time; a GPU takes all as it is stored.
    """
    term = check_inputs(x, adjacency, edge, eps)
    check_parameter("y", y, x.shape[1], x.device)
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    if isinstance(parameter, Tensor):
        values = parameter.to(x.device, dtype).expand(x.shape[1])
    else:
        values = torch.full((), parameter, dtype=dtype, device=x.device).expand(x.shape[1])
    graph = [
        adjacency.rowptr,
        adjacency.source,
        adjacency.edge,
        adjacency.rowptr_t,
        adjacency.target,
        adjacency.edge_t,
    ]
    if device.on_gpu(x):
        is_scaled = isinstance(y, Tensor) or y != 0  # before it is rounded to 16 bits
        out = operator(x.to(dtype) if is_scaled else x, values, graph, _tensors(term), eps, option)
        return scale_by_degree(out, adjacency, y).to(x.dtype)
    wide = _to(x, dtype)
    tensors = [_to(t, dtype) if t.is_floating_point() else t for t in _tensors(term, MOST_FEATURES)]
    if x.shape[1] <= WIDEST:
        out = operator(wide, values, graph, tensors, eps, option)
    else:
        parts = [slice(start, start + WIDEST) for start in range(0, x.shape[1], WIDEST)]
        out = torch.cat(
            [operator(wide[:, part], values[part], graph, _narrow(tensors, part), eps, option) for part in parts], dim=1
        )
    return scale_by_degree(out, adjacency, y).to(x.dtype)


def _to(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor in this precision; what was made in inference mode is copied where it is to be kept for backward."""
    tensor = tensor.to(dtype)
    is_kept = torch.is_grad_enabled() and not torch.compiler.is_compiling()
    return tensor.clone() if is_kept and tensor.is_inference() else tensor


def _tensors(term: EdgeTerm | None, most_features: float = math.inf) -> list[Tensor]:
    """The tensors of an edge term as the operators take them; dense where the factored form would not serve."""
    match term:
        case None:
            return []
        case Affine(features, weight, bias) if 0 < features.shape[1] <= most_features and not features.requires_grad:
            return [features, weight, weight.new_zeros(weight.shape[0]) if bias is None else bias]
        case Table(codes, table):
            return [codes, table]
        case _:
            return [term.materialize()]


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
