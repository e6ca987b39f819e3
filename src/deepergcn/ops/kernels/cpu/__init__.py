"""CPU kernels in Numba, one file an aggregation; ``machine`` is what they are written with."""
