"""Very deep graph networks: the system of *DeeperGCN: All You Need to Train Deeper GCNs*."""

from deepergcn.version import __version__

__all__ = ["__version__"]
