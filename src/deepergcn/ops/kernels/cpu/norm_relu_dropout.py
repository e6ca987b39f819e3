"""Normalization, ReLU and dropout in one pass over the nodes, and their backward in one or two.

The dropout mask is a hash of the seed, the row and the channel: it is made where it is used and made again in backward,
the same bits for any number of threads, and never stored.
"""

import numpy as np
from numba import njit

from deepergcn.ops.kernels.cpu.machine.arrays import bare, row_of, sum_rows, working_row
from deepergcn.ops.kernels.cpu.machine.intrinsics import mixed, nth_key
from deepergcn.ops.kernels.cpu.machine.jit import LANES, body, kernel
from deepergcn.ops.kernels.cpu.machine.record import write_call
from deepergcn.ops.kernels.cpu.rows import FLUSH, chunk_begin, flush

_U = np.uint32


@njit(inline="always")
def _row_key(seed, row):
    """A well mixed number for every row and 64-bit seed."""
    key = mixed(_U(_U(seed) ^ _U(row)))
    key = mixed(_U(key ^ _U(seed >> 32)))
    return mixed(_U(key ^ _U(row >> 32)))


@njit(inline="always")
def _kept(key, j, threshold):
    return mixed(nth_key(key, j)) >= threshold


@njit(inline="always")
def _rows_of(x, chunk, chunks):
    return x.shape[0] * chunk // chunks, x.shape[0] * (chunk + 1) // chunks


@body
def _moments(chunk, chunks, x, totals):
    """The sums of x and of its square in every channel, [chunks, 2, channels], float64.

    Both are of x less its first row: where the mean is large beside the deviation, their difference would cancel.
    """
    if chunk < 0:
        write_call(chunks)
        return
    begin, end = _rows_of(x, chunk, chunks)
    for u in range(begin, end):
        for j in range(x.shape[1]):
            value = np.float64(x[u, j]) - np.float64(x[0, j])
            totals[chunk, 0, j] += value
            totals[chunk, 1, j] += value * value


moments = kernel(_moments)


@body
def _apply(chunk, chunks, x, mean, scale, shift, floor, seed, threshold, gain, out):
    """out = dropout(ReLU((x - mean) scale + shift)), with mean, scale and shift [channels].

    ``floor`` is 0 for ReLU, NaN for none; a value is kept where its hash reaches ``threshold``, and then multiplied by
    ``gain``.
    """
    if chunk < 0:
        write_call(chunks)
        return
    zero = x.dtype.type(0)
    begin, end = _rows_of(x, chunk, chunks)
    for u in range(begin, end):
        key = _row_key(seed, u)
        for j in range(x.shape[1]):
            h = (x[u, j] - mean[j]) * scale[j] + shift[j]
            h = floor if h <= floor else h
            out[u, j] = h * gain if _kept(key, j, threshold) else zero


apply = kernel(_apply)


@body
def _apply_and_add(chunk, chunks, ptr, x, mean, scale, shift, floor, out, totals):
    """As ``apply`` without dropout, and the sum of out over the rows from ``ptr[g]`` to ``ptr[g + 1]`` of each graph g.

    ``totals`` is [graphs, channels], or has no rows where the sums are not wanted.
    """
    if chunk < 0:
        write_call(chunks)
        return
    x, mean, scale, shift, out = bare(x), bare(mean), bare(scale), bare(shift), bare(out)
    channels = x.shape[1]
    sums = working_row(x, channels)
    for g in range(chunk_begin(ptr, chunk, chunks), chunk_begin(ptr, chunk + 1, chunks)):
        for j in range(channels):
            sums[j] = 0
        for u in range(ptr[g], ptr[g + 1]):
            row, result = row_of(x, u), row_of(out, u)
            for j in range(channels):
                h = (row[j] - mean[j]) * scale[j] + shift[j]
                h = floor if h <= floor else h
                result[j] = h
                sums[j] += h
        if totals.shape[0]:
            for j in range(channels):
                totals[g, j] = sums[j]


apply_and_add = kernel(_apply_and_add)


@body
def _gate(chunk, chunks, g, x, mean, rstd, scale, shift, floor, seed, threshold, gain, dh, totals):
    """dh, the gradient through dropout and ReLU, and the sums of dh and of dh (x - mean) rstd in every channel.

    ``totals`` is [chunks, 2, channels]: dshift, dscale / rstd.
    """
    if chunk < 0:
        write_call(chunks)
        return
    channels = x.shape[1]
    zero = x.dtype.type(0)
    sums = sum_rows(x, 2, channels)
    pending = 0
    begin, end = _rows_of(x, chunk, chunks)
    for u in range(begin, end):
        key = _row_key(seed, u)
        for j in range(channels):
            away = x[u, j] - mean[j]
            h = away * scale[j] + shift[j]
            push = g[u, j] * gain if (_kept(key, j, threshold) and not h <= floor) else zero
            dh[u, j] = push
            sums[0, j] += push
            sums[1, j] += push * (away * rstd[j])
        pending += 1
        if pending == FLUSH:
            flush(sums, totals[chunk])
            pending = 0
    flush(sums, totals[chunk])


gate = kernel(_gate)


@body
def _unscale(chunk, chunks, x, mean, rstd, scale, level, tilt, dx):
    """dx = scale (dh - level - tilt (x - mean) rstd), where dx holds dh before."""
    if chunk < 0:
        write_call(chunks)
        return
    begin, end = _rows_of(x, chunk, chunks)
    for u in range(begin, end):
        for j in range(x.shape[1]):
            away = x[u, j] - mean[j]
            dx[u, j] = scale[j] * (dx[u, j] - level[j] - tilt[j] * (away * rstd[j]))


unscale = kernel(_unscale)


@njit(**LANES)
def _row_moments(x, u, eps):
    """The mean of a row and the inverse of its standard deviation."""
    channels = x.shape[1]
    total = x.dtype.type(0)
    for j in range(channels):
        total += x[u, j]
    mean = total / x.dtype.type(channels)
    square = x.dtype.type(0)
    for j in range(channels):
        square += (x[u, j] - mean) * (x[u, j] - mean)
    return mean, x.dtype.type(1) / np.sqrt(square / x.dtype.type(channels) + eps)


@body
def _layer(chunk, chunks, x, scale, shift, eps, floor, seed, threshold, gain, out):
    """As ``apply``, with the moments of each row: layer normalization."""
    if chunk < 0:
        write_call(chunks)
        return
    zero = x.dtype.type(0)
    begin, end = _rows_of(x, chunk, chunks)
    for u in range(begin, end):
        key = _row_key(seed, u)
        mean, rstd = _row_moments(x, u, eps)
        for j in range(x.shape[1]):
            h = (x[u, j] - mean) * rstd * scale[j] + shift[j]
            h = floor if h <= floor else h
            out[u, j] = h * gain if _kept(key, j, threshold) else zero


layer = kernel(_layer)


@njit(**LANES)
def _row_means(push, unit):
    """The means of push and of push times unit."""
    level = push.dtype.type(0)
    tilt = push.dtype.type(0)
    for j in range(push.shape[0]):
        level += push[j]
        tilt += push[j] * unit[j]
    share = push.dtype.type(1) / push.dtype.type(push.shape[0])
    return level * share, tilt * share


@body
def _layer_backward(chunk, chunks, g, x, scale, shift, eps, floor, seed, threshold, gain, dx, totals):
    """dx, and the sums for dscale and dshift in every channel, [chunks, 2, channels]."""
    if chunk < 0:
        write_call(chunks)
        return
    channels = x.shape[1]
    unit = working_row(x, channels)
    push = working_row(x, channels)
    sums = sum_rows(x, 2, channels)
    pending = 0
    zero = x.dtype.type(0)
    begin, end = _rows_of(x, chunk, chunks)
    for u in range(begin, end):
        key = _row_key(seed, u)
        mean, rstd = _row_moments(x, u, eps)
        for j in range(channels):
            unit[j] = (x[u, j] - mean) * rstd
            h = unit[j] * scale[j] + shift[j]
            push[j] = g[u, j] * gain if (_kept(key, j, threshold) and not h <= floor) else zero
            sums[0, j] += push[j]
            sums[1, j] += push[j] * unit[j]
            push[j] *= scale[j]
        level, tilt = _row_means(push, unit)
        for j in range(channels):
            dx[u, j] = rstd * (push[j] - level - tilt * unit[j])
        pending += 1
        if pending == FLUSH:
            flush(sums, totals[chunk])
            pending = 0
    flush(sums, totals[chunk])


layer_backward = kernel(_layer_backward)
