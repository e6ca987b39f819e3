"""What the backward of a node path reads of a target, made once a target, and the gradient of beta or p."""

import numpy as np

from deepergcn.ops.kernels.cpu.machine.intrinsics import working_row
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.record import write_call


@body
def _shares(chunk, chunks, g, factor, total, slope, shares, totals):
    """shares = g / total and that times factor, or with room for one row the second alone.

    Args:
        g, factor, total: [targets, channels].
        slope: [targets, channels], dout in beta or p; no rows where nobody asks for it.
        shares: [targets, 1 or 2, channels].
        totals: [chunks, channels], float64, becomes the sum of g slope.
    """
    if chunk < 0:
        write_call(chunks)
        return
    channels = g.shape[1]
    acc = working_row(totals, channels)
    for j in range(channels):
        acc[j] = 0
    for v in range(g.shape[0] * chunk // chunks, g.shape[0] * (chunk + 1) // chunks):
        if shares.shape[1] == 2:
            for j in range(channels):
                share = g[v, j] / total[v, j]
                shares[v, 0, j] = share
                shares[v, 1, j] = share * factor[v, j]
        else:
            for j in range(channels):
                shares[v, 0, j] = g[v, j] * factor[v, j] / total[v, j]
        if slope.shape[0]:
            for j in range(channels):
                acc[j] += np.float64(g[v, j]) * slope[v, j]
    for j in range(channels):
        totals[chunk, j] = acc[j]


shares_of = kernel(_shares)
