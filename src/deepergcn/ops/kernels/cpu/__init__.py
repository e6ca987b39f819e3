"""CPU kernels in Numba, one file an aggregation."""
