"""Kernels for affine edge terms of few features, and the steps that they are made of."""
