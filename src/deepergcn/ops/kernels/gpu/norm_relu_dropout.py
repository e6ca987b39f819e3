"""The passes of ``kernels.normalization``: norm, ReLU and dropout in one over the nodes, backward in one or two.

The dropout mask is the hash of ``kernels.contract``: made where it is used and made again in backward, never stored.
Backward of a batch norm takes its sums in a first pass and makes the same gradients again in a second: to store them
would move more bytes.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from deepergcn.ops.kernels.gpu.launch import launch
from deepergcn.ops.kernels.gpu.maths import divide
from deepergcn.ops.kernels.normalization import Mask, Norm

_ROWS = 64  # rows that a program adds up
_NUMBERS = 1024  # numbers of a tile


@triton.jit
def _mixed(bits):
    bits = (bits ^ (bits >> 16)) * 0x7FEB352D
    bits = (bits ^ (bits >> 15)) * 0x846CA68B
    return bits ^ (bits >> 16)


@triton.jit
def _kept(rows, columns, low, high, threshold):
    """Which numbers of a tile the dropout keeps."""
    key = _mixed(rows.to(tl.uint32) ^ low.to(tl.uint32))
    key = _mixed(key ^ high.to(tl.uint32))
    key = _mixed(key ^ (rows >> 32).to(tl.uint32))
    return _mixed(key[:, None] + columns.to(tl.uint32)[None, :]) >= threshold.to(tl.uint32)


@triton.jit
def _row_moments(x, there, channels, EPS: tl.constexpr, NUMBER: tl.constexpr):
    """The mean of every row and the inverse of its standard deviation."""
    count = tl.zeros([x.shape[0]], NUMBER) + channels.to(NUMBER)
    mean = divide(tl.sum(x, axis=1), count)
    away = tl.where(there, x - mean[:, None], 0.0)
    return mean, divide(count * 0.0 + 1.0, tl.sqrt(divide(tl.sum(away * away, axis=1), count) + EPS))


@triton.jit
def _column(vector, columns, channels, otherwise, NUMBER: tl.constexpr):
    return tl.load(vector + columns, mask=columns < channels, other=otherwise).to(NUMBER)


@triton.jit
def _moments(
    x, totals, rows, channels, per_program, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):  # fmt: skip
    """The sums of x and of its square in every channel, both of x less its first row: [programs, 2, channels]."""
    columns = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = columns < channels
    origin = tl.load(x + columns, mask=inside, other=0.0).to(tl.float64)
    first = tl.zeros([BLOCK_C], tl.float64)
    second = tl.zeros([BLOCK_C], tl.float64)
    begin = tl.program_id(0).to(tl.int64) * per_program
    end = tl.minimum(begin + per_program, rows)
    for k in range(begin, end, BLOCK_R):
        at = k + tl.arange(0, BLOCK_R)
        there = (at < end)[:, None] & inside[None, :]
        value = tl.load(x + at[:, None] * channels + columns[None, :], mask=there, other=0.0).to(tl.float64)
        value = tl.where(there, value - origin[None, :], 0.0)
        first += tl.sum(value, axis=0)
        second += tl.sum(value * value, axis=0)
    at = totals + tl.program_id(0).to(tl.int64) * 2 * channels + columns
    tl.store(at, first, mask=inside)
    tl.store(at + channels, second, mask=inside)


@triton.jit
def _apply(
    x, mean, rstd, weight, bias, out, low, high, threshold, rows, channels,
    ROW: tl.constexpr, EPS: tl.constexpr, RELU: tl.constexpr, GAIN: tl.constexpr, DROP: tl.constexpr,
    NUMBER: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """out = dropout(ReLU((x - mean) rstd weight + bias)), with the moments of each row if ``ROW``, else given ones."""
    at = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    columns = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    there = (at < rows)[:, None] & (columns < channels)[None, :]
    value = tl.load(x + at[:, None] * channels + columns[None, :], mask=there, other=0.0).to(NUMBER)
    scale = _column(weight, columns, channels, 0.0, NUMBER)[None, :]
    if ROW:
        centre, inverse = _row_moments(value, there, channels, EPS, NUMBER)
        h = (value - centre[:, None]) * inverse[:, None] * scale
    else:
        centre = _column(mean, columns, channels, 0.0, NUMBER)[None, :]
        h = (value - centre) * (_column(rstd, columns, channels, 0.0, NUMBER)[None, :] * scale)
    h += _column(bias, columns, channels, 0.0, NUMBER)[None, :]
    if RELU:
        h = tl.where(h <= 0.0, 0.0, h)
    if DROP:
        h = tl.where(_kept(at, columns, low, high, threshold), h * GAIN, 0.0)
    tl.store(out + at[:, None] * channels + columns[None, :], h.to(out.dtype.element_ty), mask=there)


@triton.jit
def _backward(
    g, x, mean, rstd, weight, bias, level, tilt, dx, totals, low, high, threshold, rows, channels, per_program,
    ROW: tl.constexpr, SUMS: tl.constexpr, SLOPES: tl.constexpr, EPS: tl.constexpr, RELU: tl.constexpr,
    GAIN: tl.constexpr, DROP: tl.constexpr, NUMBER: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """The sums for dbias and dweight, [programs, 2, channels], if ``SUMS``; dx if ``SLOPES``.

    With dh the gradient through dropout and ReLU and unit = (x - mean) rstd, they are of dh and dh unit, and
    dx = rstd (weight (dh - level - tilt unit)). ``level`` and ``tilt`` are the means of dh and dh unit over the batch;
    those of a row are of weight dh and weight dh unit.
    """
    columns = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = columns < channels
    scale = _column(weight, columns, channels, 0.0, NUMBER)[None, :]
    shift = _column(bias, columns, channels, 0.0, NUMBER)[None, :]
    first = tl.zeros([BLOCK_C], NUMBER)
    second = tl.zeros([BLOCK_C], NUMBER)
    begin = tl.program_id(0).to(tl.int64) * per_program
    end = tl.minimum(begin + per_program, rows)
    for k in range(begin, end, BLOCK_R):
        at = k + tl.arange(0, BLOCK_R)
        there = (at < end)[:, None] & inside[None, :]
        offsets = at[:, None] * channels + columns[None, :]
        value = tl.load(x + offsets, mask=there, other=0.0).to(NUMBER)
        push = tl.load(g + offsets, mask=there, other=0.0).to(NUMBER)
        if ROW:
            centre, inverse = _row_moments(value, there, channels, EPS, NUMBER)
            centre, inverse = centre[:, None], inverse[:, None]
            unit = (value - centre) * inverse
            h = unit * scale + shift
        else:
            centre = _column(mean, columns, channels, 0.0, NUMBER)[None, :]
            inverse = _column(rstd, columns, channels, 0.0, NUMBER)[None, :]
            unit = (value - centre) * inverse
            h = (value - centre) * (inverse * scale) + shift
        if DROP:
            push = tl.where(_kept(at, columns, low, high, threshold), push * GAIN, 0.0)
        if RELU:
            push = tl.where(h <= 0.0, 0.0, push)
        push = tl.where(there, push, 0.0)
        unit = tl.where(there, unit, 0.0)
        if SUMS:
            first += tl.sum(push, axis=0)
            second += tl.sum(push * unit, axis=0)
        if SLOPES:
            push = push * scale
            if ROW:
                count = tl.zeros([BLOCK_R], NUMBER) + channels.to(NUMBER)
                flat = divide(tl.sum(push, axis=1), count)[:, None]
                slope = divide(tl.sum(push * unit, axis=1), count)[:, None]
            else:
                flat = _column(level, columns, channels, 0.0, NUMBER)[None, :] * scale
                slope = _column(tilt, columns, channels, 0.0, NUMBER)[None, :] * scale
            push = inverse * (push - flat - slope * unit)
            tl.store(dx + offsets, push.to(dx.dtype.element_ty), mask=there)
    if SUMS:
        at = totals + tl.program_id(0).to(tl.int64) * 2 * channels + columns
        tl.store(at, first, mask=inside)
        tl.store(at + channels, second, mask=inside)


def moments(x: Tensor) -> Tensor:
    rows, channels = x.shape
    programs = triton.cdiv(rows, _ROWS)
    totals = x.new_empty(programs, 2, channels, dtype=torch.float64)
    tile = _tile(x, whole_rows=False)
    grid = (programs, triton.cdiv(channels, tile["BLOCK_C"]))
    launch(_moments, grid, x, totals, rows, channels, _ROWS, **tile, num_warps=4)
    return totals.sum(dim=0)


def apply(x: Tensor, norm: Norm, mask: Mask, out: Tensor) -> None:
    rows, channels = x.shape
    tile = _tile(x, whole_rows=norm.statistics == "row")
    launch(
        _apply,
        (triton.cdiv(rows, tile["BLOCK_R"]), triton.cdiv(channels, tile["BLOCK_C"])),
        *(x, norm.mean, norm.rstd, norm.weight, norm.bias, out, *_words(mask), rows, channels),
        **_options(x, norm, mask),
        **tile,
        num_warps=4,
    )


def sums(g: Tensor, x: Tensor, norm: Norm, mask: Mask, dx: Tensor) -> Tensor:
    return _backwards(g, x, norm, mask, norm.mean, norm.mean, dx, SUMS=True, SLOPES=False)


def slopes(g: Tensor, x: Tensor, norm: Norm, mask: Mask, level: Tensor, tilt: Tensor, dx: Tensor) -> None:
    _backwards(g, x, norm, mask, level, tilt, dx, SUMS=False, SLOPES=True)


def both(g: Tensor, x: Tensor, norm: Norm, mask: Mask, dx: Tensor) -> Tensor:
    none = torch.zeros_like(norm.mean)
    return _backwards(g, x, norm, mask, none, none, dx, SUMS=True, SLOPES=True)


def _backwards(
    g: Tensor, x: Tensor, norm: Norm, mask: Mask, level: Tensor, tilt: Tensor, dx: Tensor, **phase: bool
) -> Tensor:
    rows, channels = x.shape
    tile = _tile(x, whole_rows=norm.statistics == "row")
    programs = triton.cdiv(rows, _ROWS)
    totals = norm.mean.new_empty(programs, 2, channels)
    launch(
        _backward,
        (programs, triton.cdiv(channels, tile["BLOCK_C"])),
        *(g, x, norm.mean, norm.rstd, norm.weight, norm.bias, level.contiguous(), tilt.contiguous(), dx, totals),
        *(*_words(mask), rows, channels, _ROWS),
        **phase,
        **_options(x, norm, mask),
        **tile,
        num_warps=4,
    )
    return totals.sum(dim=0, dtype=torch.float64) if phase["SUMS"] else totals


def _tile(x: Tensor, whole_rows: bool) -> dict[str, int]:
    wide = triton.next_power_of_2(x.shape[1])
    wide = wide if whole_rows else min(wide, 128)
    return {"BLOCK_R": max(_NUMBERS // wide, 1), "BLOCK_C": wide}


def _options(x: Tensor, norm: Norm, mask: Mask) -> dict[str, object]:
    number = tl.float64 if x.dtype == torch.float64 else tl.float32
    row, drop = norm.statistics == "row", mask.threshold > 0
    return {"ROW": row, "EPS": norm.eps, "RELU": mask.relu, "GAIN": mask.gain, "DROP": drop, "NUMBER": number}


def _words(mask: Mask) -> tuple[int, int, int]:
    """(low, high, threshold) as numbers of 32 bits with a sign, which no launch takes for numbers of 64 bits."""
    return _signed(mask.seed & 0xFFFFFFFF), _signed(mask.seed >> 32 & 0xFFFFFFFF), _signed(mask.threshold)


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >= 1 << 31 else bits
