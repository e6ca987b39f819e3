"""What the backward of a node path reads of a target, made once a target, and the gradient of beta or p."""

import numpy as np

from deepergcn.ops.kernels.cpu.machine.arrays import working_row
from deepergcn.ops.kernels.cpu.machine.jit import body, kernel
from deepergcn.ops.kernels.cpu.machine.record import write_call


@body
def _shares(chunk, chunks, g, factor, total, slope, share, product, totals):
    """share = g / total, where it has rows, and product = g factor / total.

    Args:
        g, factor, total: [targets, channels].
        slope: [targets, channels], dout in beta or p; no rows where nobody asks for it.
        share, product: [targets, channels]; share has no rows where nobody asks for it.
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
        if share.shape[0]:
            for j in range(channels):
                part = g[v, j] / total[v, j]
                share[v, j] = part
                product[v, j] = part * factor[v, j]
        else:
            for j in range(channels):
                product[v, j] = g[v, j] * factor[v, j] / total[v, j]
        if slope.shape[0]:
            for j in range(channels):
                acc[j] += np.float64(g[v, j]) * slope[v, j]
    for j in range(channels):
        totals[chunk, j] = acc[j]


shares_of = kernel(_shares)
