"""exp, log and their kin for float32, written so that they vectorise; float64 takes the library's.

A call to the mathematics library stops a loop from vectorising, which costs a factor of ten. The polynomials are those
of Cephes, accurate to about one unit in the last place. NaN in, NaN out.
"""

import math

import numpy as np
from numba import types
from numba.extending import overload

from deepergcn.ops.kernels.compile import FASTMATH
from deepergcn.ops.kernels.intrinsics import bits_from_float, float_from_bits

_F = np.float32
_LOWEST = _F(-87.3)  # exp of it is the smallest normal float32
_LOG2E, _LN2_HIGH, _LN2_LOW = _F(1.44269504088896341), _F(0.693359375), _F(-2.12194440e-4)
_OPTIONS = {"fastmath": FASTMATH}


def exp_pair(t):
    """(exp(t), exp(t) - 1) for t <= 88, the second without cancellation near 0."""
    raise NotImplementedError


@overload(exp_pair, jit_options=_OPTIONS)
def _exp_pair(t):
    if t == types.float64:
        return lambda t: (math.exp(t), math.expm1(t))

    def single(t):
        t = _LOWEST if t < _LOWEST else t
        k = np.floor(t * _LOG2E + _F(0.5))
        r = (t - k * _LN2_HIGH) - k * _LN2_LOW
        q = _F(1.9875691500e-4)
        q = q * r + _F(1.3981999507e-3)
        q = q * r + _F(8.3334519073e-3)
        q = q * r + _F(4.1665795894e-2)
        q = q * r + _F(1.6666665459e-1)
        q = q * r + _F(5.0000001201e-1)
        q = q * r * r + r
        scale = float_from_bits((np.int32(k) + np.int32(127)) << np.int32(23))
        return scale * q + scale, scale * q + (scale - _F(1))

    return single


def exp(t):
    """exp(t) for t <= 88."""
    raise NotImplementedError


@overload(exp, jit_options=_OPTIONS)
def _exp(t):
    if t == types.float64:
        return lambda t: math.exp(t)
    return lambda t: exp_pair(t)[0]


def exp_of_double(t, like):
    """exp of a float64 t <= 0 in the precision of ``like``: the exponent loses nothing before it is taken."""
    raise NotImplementedError


@overload(exp_of_double, jit_options=_OPTIONS)
def _exp_of_double(t, like):
    if like == types.float64:
        return lambda t, like: math.exp(t)

    def single(t, like):
        k = np.floor(t * 1.44269504088896341 + 0.5)
        r = _F(t - k * 0.693147180559945309)
        scale = float_from_bits((np.int32(k) + np.int32(127)) << np.int32(23))
        return exp_pair(r)[0] * scale

    return single


def log(v):
    """ln(v) for normal v > 0."""
    raise NotImplementedError


@overload(log, jit_options=_OPTIONS)
def _log(v):
    if v == types.float64:
        return lambda v: math.log(v)

    def single(v):
        bits = bits_from_float(v)
        k = _F((bits >> np.int32(23)) - np.int32(126))
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
        q = q * r * z
        q = q + k * _LN2_LOW - _F(0.5) * z
        result = (r + q) + k * _LN2_HIGH
        return result if v > _F(0) else _F(np.nan)

    return single


def log1p(q):
    """ln(1 + q) for q > -1, without cancellation near 0."""
    raise NotImplementedError


@overload(log1p, jit_options=_OPTIONS)
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


@overload(excess, jit_options=_OPTIONS)
def _excess(t):
    terms = 18 if t == types.float64 else 9
    ratios = tuple((k + 1) / math.factorial(k + 2) for k in range(terms))
    precision = np.float64 if t == types.float64 else np.float32
    coefficients = np.array(ratios[::-1], dtype=precision)
    one, reach = precision(1), precision(0.5)

    def general(t):
        power, less_one = exp_pair(t)
        near = reach if t > reach else (-reach if t < -reach else t)
        series = coefficients[0]
        for k in range(1, terms):
            series = series * near + coefficients[k]
        far = t if (t > reach or t < -reach) else one
        return series if near == t else (far * power - less_one) / (far * far)

    return general
