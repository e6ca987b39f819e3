"""The aggregations and their derivatives by their formulas, with 60 digits."""

from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 60


@dataclass(frozen=True)
class Exact:
    """One vertex and channel: the result, its derivative in every message and in the parameter, and the weights."""

    out: mpf
    dm: list[mpf]
    dparameter: mpf
    weights: list[mpf]


def softmax(messages: list[float], beta: float) -> Exact:
    m, beta = [mpf(value) for value in messages], mpf(beta)
    top = max(m) if beta >= 0 else min(m)
    e = [mp.exp(beta * (value - top)) for value in m]
    w = [value / mp.fsum(e) for value in e]
    out = mp.fdot(w, m)
    return Exact(
        out,
        [weight * (1 + beta * (value - out)) for weight, value in zip(w, m, strict=True)],
        mp.fsum(weight * (value - out) ** 2 for weight, value in zip(w, m, strict=True)),
        w,
    )


def power_mean(messages: list[float], p: float) -> Exact:
    m, p = [mpf(value) for value in messages], mpf(p)
    logs = [mp.log(value) for value in m]
    if p == 0:
        mean = mp.fsum(logs) / len(m)
        out = mp.exp(mean)
        slope = out * mp.fsum((value - mean) ** 2 for value in logs) / len(m) / 2
        return Exact(out, [out / len(m) / value for value in m], slope, [mpf(1) / len(m)] * len(m))
    powers = [mp.exp(p * value) for value in logs]
    log_of_mean = mp.log(mp.fsum(powers) / len(m))
    w = [value / mp.fsum(powers) for value in powers]
    out = mp.exp(log_of_mean / p)
    return Exact(
        out,
        [out * weight / value for weight, value in zip(w, m, strict=True)],
        out * (mp.fdot(w, logs) / p - log_of_mean / p**2),
        w,
    )
