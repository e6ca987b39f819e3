"""CPU kernels in Numba, one file an aggregation; in ``affine`` for few edge features, in ``machine`` what all share."""
