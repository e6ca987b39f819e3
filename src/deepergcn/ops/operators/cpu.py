"""What the CPU operators share: tensors as arrays, chunks, and the one backward of all of them."""

import functools
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from deepergcn.errors import InputError
from deepergcn.ops.kernels.cpu.backward import backward
from deepergcn.ops.kernels.cpu.machine.arrays import AT_ONCE
from deepergcn.ops.kernels.cpu.machine.lanes import LANES

_MOST_CHUNKS = 64
_WORK_A_CHUNK = 1 << 18  # edges and vertices times channels; less is not worth another chunk
_TABLE_BYTES = 1 << 26  # what the chunks' own gradients of a table may take together

Array = np.ndarray[Any, Any]


def _compute_on_one_thread() -> None:
    """Set one thread in a forked process if kernels ran on several: these are not forked, and Numba would exit."""
    with suppress(ValueError):  # no kernel has run on several threads
        if numba.threading_layer() == "omp":
            torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_compute_on_one_thread)


def array(tensor: Tensor) -> Array:
    """The tensor's numbers, C-contiguous, without a copy where they lie so already."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    return (tensor if tensor.is_contiguous() else tensor.contiguous()).numpy()


def chunk_count(graph: Sequence[Tensor], channels: int) -> int:
    """How many chunks share the work: it follows from the graph alone, never from the number of threads."""
    rowptr, source, rowptr_t = graph[0], graph[1], graph[3]
    work = (source.shape[0] + max(rowptr.shape[0], rowptr_t.shape[0])) * channels
    return even_chunks(work, _WORK_A_CHUNK)


def even_chunks(work: int, unit: int) -> int:
    """A chunk for about every ``unit`` of work: a power of two, so that 2, 4 or 8 threads get equal shares."""
    return int(min(1 << (work // unit).bit_length(), _MOST_CHUNKS))


@functools.cache
def channel_of_lanes(channels: int) -> Array:
    """The channel of every lane; the last block overlaps that before it where blocks do not come out even."""
    starts = np.minimum(np.arange(0, channels, LANES), channels - LANES)
    return np.asarray(starts[:, None] + np.arange(LANES)).reshape(-1)


def in_blocks(rows: Array) -> Array:
    """Rows [rows, channels] as kernels take them block by block of channels: [blocks, rows, LANES]."""
    found = rows[:, channel_of_lanes(rows.shape[1])].reshape(rows.shape[0], -1, LANES)
    return np.ascontiguousarray(found.transpose(1, 0, 2))


def floor_and_eps(eps: float | None, x: Array) -> tuple[Any, Any]:
    """The bounds of ``kernels.rows.message``: ReLU and eps, or neither."""
    number = x.dtype.type
    return (number(np.nan), number(0)) if eps is None else (number(0), number(eps))


def edge_arrays(edge: Sequence[Tensor]) -> tuple[Array, ...]:
    """The edge term in the shapes of ``kernels.rows``; codes beyond the table are refused before a kernel reads it."""
    if len(edge) == 2:
        _check_codes(edge[0], edge[1].shape[0])
    return _arrays(edge)


def _arrays(edge: Sequence[Tensor]) -> tuple[Array, ...]:
    match tuple(edge):
        case ():
            return ()
        case (features,):
            return np.arange(features.shape[0], dtype=np.int32), array(features)
        case (codes, table):
            return array(codes.to(torch.int32)), array(table)
        case (features, weight, bias):
            return array(features), _padded(weight), array(bias)
    raise AssertionError(f"an edge term of {len(edge)} tensors")


def _padded(weight: Tensor) -> Array:
    """The transpose of the weight of an affine edge term, with the rows of 0 that ``kernels.rows`` asks for."""
    channels, features = weight.shape
    rows = np.zeros((max(features, AT_ONCE), channels), array(weight).dtype)
    rows[:features] = array(weight).T
    return rows


def _check_codes(codes: Tensor, rows: int) -> None:
    if codes.numel():
        low, high = (int(value) for value in torch.aminmax(codes))
        if low < 0 or high >= rows:
            raise InputError(f"edge codes: expected 0 to {rows - 1}, the rows of the table, got {low} to {high}")


def run_backward(
    x: Tensor, graph: Sequence[Tensor], edge: Sequence[Tensor], eps: float | None, rule: tuple[Tensor, ...]
) -> tuple[Tensor, list[Tensor], Tensor]:
    """The gradients of x, of what is learnable in the edge term, and of beta where the rule is softmax's."""
    channels = x.shape[1]
    values = array(x)
    arrays = _arrays(edge)
    chunks = chunk_count(graph, channels)
    features = edge[0].shape[1] if len(edge) == 3 else 0
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    copies, rows = 1, 0
    if len(edge) == 1:
        rows = edge[0].shape[0]
    elif len(edge) == 2:
        rows = edge[1].shape[0]
        chunks = min(chunks, max(_TABLE_BYTES // max(rows * channels * x.element_size(), 1), 1))
        copies = chunks
    tables = x.new_zeros(copies, rows, channels)
    totals = np.zeros((chunks, features + 2, channels))
    rowptr, target, place = (array(t) for t in graph[3:])
    backward(
        chunks,
        rowptr,
        target,
        place,
        values,
        arrays,
        *floor_and_eps(eps, values),
        tuple(array(t) for t in rule),
        array(dx),
        array(tables),
        totals,
    )
    with np.errstate(all="ignore"):
        added = torch.from_numpy(totals.sum(axis=0).astype(values.dtype))
    match len(edge):
        case 1:
            d_edge = [tables[0]]
        case 2:
            d_edge = [tables.sum(dim=0)]
        case 3:
            d_edge = [added[:features].t().contiguous(), added[features].clone()]
        case _:
            d_edge = []
    return dx, d_edge, added[-1].clone()
