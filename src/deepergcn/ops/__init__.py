"""The mathematics: pure functions on tensors, and the graph's structure that they share."""

from deepergcn.ops.adjacency import Adjacency, as_adjacency
from deepergcn.ops.edge import Affine, Dense, EdgeTerm, Table
from deepergcn.ops.reference import max, mean, min, power_mean, softmax, sum

__all__ = [
    "Adjacency",
    "Affine",
    "Dense",
    "EdgeTerm",
    "Table",
    "as_adjacency",
    "max",
    "mean",
    "min",
    "power_mean",
    "softmax",
    "sum",
]
