"""How a kernel becomes an operator of PyTorch: registration, the choice of a device's kernels, their launch."""
