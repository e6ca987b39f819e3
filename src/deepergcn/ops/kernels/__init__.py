"""Kernels by device. Nothing outside ``ops`` calls them; the functions of ``ops`` do, through custom operators."""
