"""Checks of the input of aggregations, with errors that name the argument."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepergcn.errors import InputError
from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.edge import Affine, Dense, EdgeTerm, Table
from deepergcn.ops.path import is_traced

Parameter = float | Tensor
"""beta, p or y: a number, a scalar tensor, or one value per channel."""

_FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_LARGEST = torch.finfo(torch.float64).max
_NUMBERS = (int, float, np.floating, np.integer, torch.SymInt, torch.SymFloat)


def check_types(x: Any, adjacency: Any) -> None:
    """Check the first two arguments of every aggregation, before anything is asked of them."""
    if not isinstance(x, Tensor) or x.layout != torch.strided:
        found = f"a {x.layout} tensor" if isinstance(x, Tensor) else type(x).__name__
        raise InputError(f"x: expected a dense tensor [nodes, channels], got {found}")
    if not isinstance(adjacency, Adjacency):
        raise InputError(
            f"adjacency: expected an Adjacency, such as Adjacency.from_edge_index gives, got {type(adjacency).__name__}"
        )


def check_inputs(x: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None, eps: float | None) -> EdgeTerm | None:
    """Check what every aggregation takes; a bare tensor of edge features becomes ``Dense``."""
    check_types(x, adjacency)
    if x.dim() != 2 or x.dtype not in _FLOATS:
        raise InputError(f"x: expected a floating-point tensor [nodes, channels], got {x.dtype} {list(x.shape)}")
    if x.shape[0] != adjacency.num_sources:
        raise InputError(f"x: expected {adjacency.num_sources} rows, one per source of the graph, got {x.shape[0]}")
    if x.device != adjacency.device:
        raise InputError(f"adjacency: expected the device of x, {x.device}, got {adjacency.device}; move it with .to()")
    if eps is not None and not (isinstance(eps, _NUMBERS) and 0 <= eps < math.inf):
        raise InputError(f"eps: expected a finite number >= 0, or None for messages as they are, got {eps}")
    if edge is None:
        return None
    edge = Dense(edge) if isinstance(edge, Tensor) else edge
    _check_edge(edge, x, adjacency.num_edges)
    return edge


def _check_edge(edge: EdgeTerm, x: Tensor, num_edges: int) -> None:
    channels = x.shape[1]
    match edge:
        case Affine(features, weight, bias):
            _check_tensors(x.device, features=features, weight=weight, bias=weight if bias is None else bias)
            _expect("edge features", features, (num_edges, weight.shape[-1]))
            _expect("edge weight", weight, (channels, features.shape[-1]))
            if bias is not None:
                _expect("edge bias", bias, (channels,))
        case Table(codes, table):
            _check_tensors(x.device, codes=codes, table=table)
            if codes.dtype not in (torch.int64, torch.int32) or codes.shape != (num_edges,):
                raise InputError(f"edge codes: expected integers [{num_edges}], got {codes.dtype} {list(codes.shape)}")
            _expect("edge table", table, (table.shape[0], channels))
        case Dense(features):
            _check_tensors(x.device, features=features)
            _expect("edge features", features, (num_edges, channels))
        case _:
            raise InputError(f"edge: expected a tensor, Affine, Table or Dense, got {type(edge).__name__}")


def _check_tensors(device: torch.device, **tensors: Any) -> None:
    """Check that these parts of an edge term are tensors on the device of x, with rows."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or not tensor.dim():
            raise InputError(f"edge {name}: expected a tensor of one or two dimensions, got {type(tensor).__name__}")
        if tensor.device != device:
            raise InputError(f"edge {name}: expected the device of x, {device}, got {tensor.device}")


def _expect(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tensor.shape != shape or not tensor.is_floating_point():
        raise InputError(
            f"{name}: expected a floating-point tensor {list(shape)}, got {tensor.dtype} {list(tensor.shape)}"
        )


def check_parameter(name: str, value: Parameter, channels: int, device: torch.device | None = None) -> None:
    """beta, p and y are finite numbers, scalar tensors or tensors of one value per channel on the device of x."""
    if isinstance(value, Tensor):
        if value.shape not in ((), (1,), (channels,)) or not value.is_floating_point():
            raise InputError(
                f"{name}: expected a number, a scalar tensor or one value for each of the {channels} channels, "
                f"got {value.dtype} {list(value.shape)}"
            )
        if device is not None and value.device != device and (value.device.type != "cpu" or value.numel() > 1):
            raise InputError(f"{name}: expected the device of x, {device}, got {value.device}")
        if _is_readable(value) and not _is_finite(value.detach()):
            raise InputError(f"{name}: expected finite values, got {value.detach().tolist()}")
    elif not isinstance(value, _NUMBERS):
        raise InputError(f"{name}: expected a number or a tensor, got {type(value).__name__}")
    elif not abs(value) < math.inf or (isinstance(value, int) and abs(value) > _LARGEST):
        raise InputError(f"{name}: expected a finite number, got {value}")


def _is_readable(value: Tensor) -> bool:
    """Whether the numbers of ``value`` can be looked at without waiting for a device and outside of any tracing."""
    if value.device.type != "cpu" or torch.compiler.is_compiling() or is_traced():
        return False
    return type(value) in (Tensor, torch.nn.Parameter)  # others, such as fake tensors, may have no numbers


def _is_finite(value: Tensor) -> bool:
    return math.isfinite(value.item()) if value.numel() == 1 else bool(value.isfinite().all())
