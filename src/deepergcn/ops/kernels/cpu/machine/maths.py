"""exp, log and their kin for float32, written so that they vectorise; float64 takes the library's.

A call to the mathematics library stops a loop from vectorising, which costs a factor of ten. The polynomials are those
of Cephes, accurate to about one unit in the last place. NaN in, NaN out.
"""

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from deepergcn.ops.kernels.cpu.machine.intrinsics import bits_from_float, float_from_bits
from deepergcn.ops.kernels.cpu.machine.jit import OPTIONS

_F = np.float32
_LOWEST = _F(-87.3)  # exp of it is the smallest normal float32
_HIGHEST = _F(88)  # exp of it is still a float32
_SMALLEST = _F(1.17549435e-38)  # normal float32
_VANISHED = _F(-70)  # exp of it times the smallest message is still a normal number: arithmetic below them is very slow
_ROUND = _F(1.5 * 2**23)  # added to a number of at most 2^22, it leaves the nearest integer in the last bits
_LOG2E, _LN2_HIGH, _LN2_LOW = _F(1.44269504088896341), _F(0.693359375), _F(-2.12194440e-4)
_SERIES = np.array([(k + 1) / math.factorial(k + 2) for k in range(17, -1, -1)])  # of excess


@njit(inline="always")
def _less_one(r):
    """exp(r) - 1 for a float32 r of at most ln(2) / 2 in size."""
    q = _F(1.9875691500e-4)
    q = q * r + _F(1.3981999507e-3)
    q = q * r + _F(8.3334519073e-3)
    q = q * r + _F(4.1665795894e-2)
    q = q * r + _F(1.6666665459e-1)
    q = q * r + _F(5.0000001201e-1)
    return q * r * r + r


@njit(inline="always")
def _power_of_two(k):
    """2^k for a whole float32 k from -126 to 127."""
    return float_from_bits((np.int32(k) + np.int32(127)) << np.int32(23))


@njit(inline="always")
def _exp_parts(t):
    """(2^k, q) with exp(t) = 2^k (1 + q), for a float32 t from -87.3 to 88; of no use beyond, NaN for NaN."""
    rounded = t * _LOG2E + _ROUND
    k = rounded - _ROUND
    q = _less_one((t - k * _LN2_HIGH) - k * _LN2_LOW)
    return float_from_bits((bits_from_float(rounded) << np.int32(23)) + np.int32(127 << 23)), q


def exp_pair(t):
    """(exp(t), exp(t) - 1) for t <= 88, the second without cancellation near 0."""
    raise NotImplementedError


@overload(exp_pair, jit_options=OPTIONS)
def _exp_pair(t):
    if t == types.float64:
        return lambda t: (math.exp(t), math.expm1(t))

    def single(t):
        scale, q = _exp_parts(_LOWEST if t < _LOWEST else t)
        return scale * q + scale, scale * q + (scale - _F(1))

    return single


def exp(t):
    """exp(t) for t <= 88."""
    raise NotImplementedError


@overload(exp, jit_options=OPTIONS)
def _exp(t):
    if t == types.float64:
        return lambda t: math.exp(t)
    return lambda t: exp_pair(t)[0]


def weight(t):
    """exp(t) for t <= 0 as a weight beside others of which one is 1: exactly 0 where it cannot matter any more."""
    raise NotImplementedError


@overload(weight, jit_options=OPTIONS)
def _weight(t):
    if t == types.float64:
        return lambda t: math.exp(t)

    def single(t):
        scale, q = _exp_parts(t)
        return _F(0) if t < _VANISHED else scale * q + scale

    return single


def root_of_exp(t):
    """exp(t / 2), whose square times a number is in range wherever the product is; 0 where the square would vanish."""
    raise NotImplementedError


@overload(root_of_exp, jit_options=OPTIONS)
def _root_of_exp(t):
    if t == types.float64:
        return lambda t: math.exp(0.5 * t)

    def single(t):
        half = _F(0.5) * t
        root = exp(_HIGHEST if half > _HIGHEST else half)
        return _F(0) if t < _LOWEST else root

    return single


def exp_of_double(t, like):
    """exp of a float64 t from -87 to 87 in the precision of ``like``; the exponent loses nothing before it is taken."""
    raise NotImplementedError


@overload(exp_of_double, jit_options=OPTIONS)
def _exp_of_double(t, like):
    if like == types.float64:
        return lambda t, like: math.exp(t)

    def single(t, like):
        k = np.floor(t * 1.44269504088896341 + 0.5)
        q = _less_one(_F(t - k * 0.693147180559945309))
        scale = _power_of_two(_F(k))
        return scale * q + scale

    return single


@njit(inline="always")
def _log_parts(v):
    """(k, r, q) with ln(v) = k ln 2 + (r + q), for a finite float32 v > 0; q is small beside r."""
    tiny = v < _SMALLEST
    bits = bits_from_float(v * _F(2.0**24) if tiny else v)
    k = _F((bits >> np.int32(23)) - np.int32(126))
    k = k - _F(24) if tiny else k
    r = float_from_bits((bits & np.int32(0x007FFFFF)) | np.int32(0x3F000000))  # in [1/2, 1)
    small = r < _F(0.707106781186547524)
    k = k - _F(1) if small else k
    r = (r + r if small else r) - _F(1)
    z = r * r
    q = _F(7.0376836292e-2)
    q = q * r + _F(-1.1514610310e-1)
    q = q * r + _F(1.1676998740e-1)
    q = q * r + _F(-1.2420140846e-1)
    q = q * r + _F(1.4249322787e-1)
    q = q * r + _F(-1.6668057665e-1)
    q = q * r + _F(2.0000714765e-1)
    q = q * r + _F(-2.4999993993e-1)
    q = q * r + _F(3.3333331174e-1)
    return k, r, q * r * z - _F(0.5) * z


@njit(inline="always")
def _log_at_the_ends(v):
    """ln(v) for a v that is 0, infinite, negative or NaN."""
    below = _F(-np.inf) if v == _F(0) else _F(np.nan)
    return v if v == _F(np.inf) else below


def log(v):
    """ln(v): -inf at 0, NaN below it."""
    raise NotImplementedError


@overload(log, jit_options=OPTIONS)
def _log(v):
    if v == types.float64:
        return lambda v: np.log(v)

    def single(v):
        k, r, q = _log_parts(v)
        result = (r + (q + k * _LN2_LOW)) + k * _LN2_HIGH
        return result if _F(0) < v < _F(np.inf) else _log_at_the_ends(v)

    return single


def log_in_double(v):
    """ln(v) for finite v > 0 as a float64 with the absolute accuracy of a float32 near 1, however large it is."""
    raise NotImplementedError


@overload(log_in_double, jit_options=OPTIONS)
def _log_in_double(v):
    if v == types.float64:
        return lambda v: math.log(v)

    def single(v):
        k, r, q = _log_parts(v)
        result = k * 0.693147180559945309 + np.float64(r + q)
        return result if v > _F(0) else np.nan

    return single


def log1p(q):
    """ln(1 + q) for q > -1, without cancellation near 0."""
    raise NotImplementedError


@overload(log1p, jit_options=OPTIONS)
def _log1p(q):
    if q == types.float64:
        return lambda q: math.log1p(q)

    def single(q):
        one_more = _F(1) + q
        lost = one_more - _F(1)
        return q if lost == _F(0) else log(one_more) * (q / lost)

    return single


def excess(t):
    """(t exp(t) - exp(t) + 1) / t^2 for t <= 88, which is 1/2 at 0: the slope of a power mean in p (power_mean.py)."""
    raise NotImplementedError


@overload(excess, jit_options=OPTIONS)
def _excess(t):
    """Beyond 1/2 by the formula; within, where that cancels, by its series sum_k (k + 1) / (k + 2)! t^k."""
    if t == types.float64:

        def double(t):
            if abs(t) > 0.5:
                return (t * math.exp(t) - math.expm1(t)) / (t * t)
            series = 0.0
            for k in range(_SERIES.shape[0]):
                series = series * t + _SERIES[k]
            return series

        return double

    def single(t):
        power, less_one = exp_pair(t)
        near, q = _excess_near(t)
        far = t if near != t else _F(1)
        return q if near == t else (far * power - less_one) / (far * far)

    return single


@njit(inline="always")
def _excess_near(t):
    """t brought between -1/2 and 1/2, and the series of ``excess`` there, in float32."""
    near = _F(0.5) if t > _F(0.5) else (_F(-0.5) if t < _F(-0.5) else t)
    q = _F(9 / 3628800)
    q = q * near + _F(8 / 362880)
    q = q * near + _F(7 / 40320)
    q = q * near + _F(6 / 5040)
    q = q * near + _F(5 / 720)
    q = q * near + _F(4 / 120)
    q = q * near + _F(3 / 24)
    q = q * near + _F(2 / 6)
    return near, q * near + _F(1 / 2)


@njit(inline="always")
def excess_of(t, power):
    """t^2 ``excess(t)`` for a float32 t whose exponential is at hand."""
    near, q = _excess_near(t)
    return q * near * near if near == t else (t - _F(1)) * power + _F(1)
