"""Kernels for GPUs, in Triton: the same operators as ``kernels.cpu``; the contract of both is ``kernels.contract``."""
