"""How kernels are launched: tiles, hubs in parts, and the arguments that all of them take."""

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from deepergcn.ops.kernels.contract import Tensors
from deepergcn.ops.kernels.gpu.rows import AFFINE, DENSE, JOINED, NONE, PART, TABLE, WHOLE

_SHORTEST_HUB = 512
_MOST_CUTS = 1 << 14  # two slots each: what hubs may take beside the features
SMALL_TILE = 1024  # bytes, for a kernel that has many tiles at once
_TILE = 2048  # bytes of a tile of numbers; more would need more registers than a thread has
_WIDEST_TILE = 128
_LONGEST_TILE = 8  # edges; a narrow tile of more spills registers on sm_90
_REGISTERS = 255  # all that a thread can have: left to choose, the assembler spills some to fit more programs


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Run ``kernel`` on the device of its tensors, unless there is nothing to do.

    Nothing fuses into one rounding but what says so: every kernel makes the same message from the same numbers.
    """
    if min(grid) > 0:
        tensors = (t for t in arguments if isinstance(t, Tensor))
        with torch.cuda.device_of(next(tensors)):
            options = {"num_warps": 1, "maxnreg": _REGISTERS, "enable_fp_fusion": False}
            kernel[grid](*arguments, **{**options, **constants})


def reduce_rows(
    kernel: Any,
    structure: Sequence[Tensor],
    x: Tensor,
    edge: Tensors,
    eps: float | None,
    arguments: Sequence[Any],
    *,
    sums: int,
    tile_bytes: int = _TILE,
    **options: Any,
) -> None:
    """Run ``kernel(graph, x, term, *arguments, partial, channels, ...)`` with a program a row and block of channels.

    Args:
        structure: rowptr, the other ends of the edges, and their places.
        sums: the numbers a channel that a part of a hub is reduced to.
        tile_bytes: the size of a tile of numbers: smaller for a kernel that has many tiles at once.
    """
    rows, edges, channels = structure[0].shape[0] - 1, structure[1].shape[0], x.shape[1]
    constants, term = message_options(x, edge, eps)
    tile = blocks(x, tile_bytes)
    long = long_row(edges)
    cuts = triton.cdiv(edges, long)
    graph = (*(t.contiguous() for t in structure), rows, edges)
    phases = [(WHOLE, rows)] if cuts < 2 else [(PART, 2 * cuts), (JOINED, rows)]
    partial = x.new_empty((2 * cuts if cuts > 1 else 0) * sums * channels, dtype=number_of(x))
    for phase, programs in phases:
        launch(
            kernel,
            (programs, triton.cdiv(channels, tile["BLOCK_C"])),
            *(graph, x.contiguous(), term, *arguments, partial, channels),
            PHASE=phase.value,
            LONG=long,
            **constants,
            **tile,
            **options,
        )


def message_options(x: Tensor, edge: Tensors, eps: float | None) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """What a kernel has to know of messages, and the edge term in the form of ``rows``."""
    options = {
        "RELU": eps is not None,
        "EPS": eps or 0.0,
        "NUMBER": tl.float64 if x.dtype == torch.float64 else tl.float32,
    }
    match tuple(t.contiguous() for t in edge):
        case (features,):
            return {**options, "KIND": DENSE.value}, (features, x, x, 0)
        case (codes, table):
            return {**options, "KIND": TABLE.value}, (codes, table, x, table.shape[0])
        case (features, weight, bias):
            return {**options, "KIND": AFFINE.value}, (features, weight.t().contiguous(), bias, features.shape[1])
    return {**options, "KIND": NONE.value}, (x, x, x, 0)


def number_of(x: Tensor) -> torch.dtype:
    """The type that sums are taken in: float64 for float64, else float32."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def blocks(x: Tensor, tile_bytes: int = _TILE) -> dict[str, int]:
    """The edges and channels of a tile."""
    wide = min(max(triton.next_power_of_2(x.shape[1]), 16), _WIDEST_TILE)
    long = min(max(tile_bytes // number_of(x).itemsize // wide, 1), _LONGEST_TILE)
    return {"BLOCK_E": long, "BLOCK_C": wide}


def long_row(edges: int) -> int:
    """The most edges that one program reduces: it follows from their number alone, and so do all bits of a result."""
    return max(_SHORTEST_HUB, int(triton.next_power_of_2(triton.cdiv(edges, _MOST_CUTS))))
