"""The mathematics: pure functions on tensors, and the graph's structure that they share."""

from importlib.util import find_spec

from deepergcn.ops.adjacency import Adjacency, as_adjacency
from deepergcn.ops.edge import Affine, Dense, EdgeTerm, Table
from deepergcn.ops.path import plain_path

if find_spec("numba"):
    from deepergcn.ops.extremum import max, min
    from deepergcn.ops.power_mean import power_mean
    from deepergcn.ops.softmax import softmax
    from deepergcn.ops.sum_mean import mean, sum
else:
    from deepergcn.ops.plain import max, mean, min, power_mean, softmax, sum

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
    "plain_path",
    "power_mean",
    "softmax",
    "sum",
]
