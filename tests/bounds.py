"""How far a result may lie from the exact one on any processor: derived from the number of terms, never measured."""

import torch
from torch import Tensor


def unit(dtype: torch.dtype) -> float:
    """The unit roundoff u: one operation is right to a relative u."""
    return torch.finfo(dtype).eps / 2


def gamma(terms: int, dtype: torch.dtype) -> float:
    """gamma_n = n u / (1 - n u): a sum of n terms, in any order, is right to gamma_n times the sum of magnitudes."""
    rounding = terms * unit(dtype)
    return rounding / (1 - rounding)


def assert_sums_equal(got: Tensor, expected: Tensor, magnitudes: Tensor | float, terms: int) -> None:
    """Two ways to add the same ``terms`` numbers, whose magnitudes add up to ``magnitudes``, each within its bound."""
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    allowed = 2 * gamma(terms, got.dtype) * torch.as_tensor(magnitudes, dtype=torch.float64)
    error = (got.double() - expected.double()).abs()
    assert bool((error <= allowed).all()), (float((error - allowed).max()), float(error.max()))
