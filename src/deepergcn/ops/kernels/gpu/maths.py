"""exp, log and their kin without cancellation, for float32 and float64.

The float32 polynomials are those of the CPU's kernels (Cephes). Nothing fuses into one rounding but what says so, so
that a GPU computes what Triton's interpreter shows. One function differs there: ``tl.exp`` of a float32 t is a GPU's
approximate power of two of t log2(e), whose relative error grows as |t| 2^-24. It is used for weights of at most 1, of
which those with a large |t| count for nothing: |t| exp(t) is at most 1/e.
"""

import triton
import triton.language as tl


@triton.jit
def divide(a, b):
    """a / b, rounded once; float32's own operator is an approximation that fails beyond 2^126."""
    if b.dtype == tl.float64:
        quotient = a / b
    else:
        quotient = tl.div_rn(a, b)
    return quotient


@triton.jit
def _less_one(r):
    """exp(r) - 1 for a float32 r of at most ln(2) / 2 in size."""
    q = tl.fma(r, 1.9875691500e-4, 1.3981999507e-3)
    q = tl.fma(q, r, 8.3334519073e-3)
    q = tl.fma(q, r, 4.1665795894e-2)
    q = tl.fma(q, r, 1.6666665459e-1)
    q = tl.fma(q, r, 5.0000001201e-1)
    return tl.fma(q * r, r, r)


@triton.jit
def exp_pair(t):
    """(exp(t), exp(t) - 1) for t <= 88, the second without cancellation near 0."""
    if t.dtype == tl.float64:
        power = tl.exp(t)
        near = tl.where(tl.abs(t) < 0.35, t, 0.0)
        series = near * 0.0 + 1.0
        for k in tl.static_range(16, 1, -1):
            series = series * near * (1.0 / k) + 1.0  # tl.fma would round the number to float32
        less_one = tl.where(tl.abs(t) < 0.35, series * near, power - 1.0)
    else:
        bounded = tl.where(t < -87.3, -87.3, t)
        twos = tl.floor(tl.fma(bounded, 1.44269504088896341, 0.5))
        q = _less_one(tl.fma(twos, 2.12194440e-4, tl.fma(twos, -0.693359375, bounded)))
        scale = ((twos.to(tl.int32) + 127) << 23).to(tl.float32, bitcast=True)
        power = tl.fma(scale, q, scale)
        less_one = tl.fma(scale, q, scale - 1.0)
    return power, less_one


@triton.jit
def root_of_exp(t):
    """exp(t / 2), whose square times a number is in range wherever the product is; 0 where the square would vanish."""
    half = 0.5 * t
    if t.dtype == tl.float64:
        root = tl.exp(half)
    else:
        power, _less_one = exp_pair(tl.where(half > 88.0, 88.0, half))
        root = tl.where(t < -87.3, 0.0, power)
    return root


@triton.jit
def log1p(q):
    """ln(1 + q) for q > -1, without cancellation near 0."""
    one_more = q + 1.0
    lost = one_more - 1.0
    none = lost == 0.0
    return tl.where(none, q, tl.log(one_more) * divide(q, tl.where(none, 1.0, lost)))


@triton.jit
def excess(t):
    """(t exp(t) - exp(t) + 1) / t^2 for t <= 88, which is 1/2 at 0: the slope of a power mean in p.

    Beyond 1/2 by the formula; within, where that cancels, by its series sum_k (k + 1) / (k + 2)! t^k.
    """
    power, less_one = exp_pair(t)
    is_near = tl.abs(t) <= 0.5
    near = tl.where(is_near, t, 0.0)
    # q_k = (k + 1) / (k + 2)! (1 + t (k + 2) / ((k + 1) (k + 3)) (1 + ...)): the ratio of neighbouring terms
    series = near * 0.0 + 1.0
    if t.dtype == tl.float64:
        for k in tl.static_range(17, 0, -1):
            series = series * near * ((k + 1.0) / (k * (k + 2.0))) + 1.0
    else:
        for k in tl.static_range(8, 0, -1):
            series = tl.fma(series * near, (k + 1.0) / (k * (k + 2.0)), 1.0)
    far = tl.where(is_near, 1.0, t)
    return tl.where(is_near, 0.5 * series, divide(far * power - less_one, far * far))
