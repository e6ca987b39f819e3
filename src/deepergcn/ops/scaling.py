"""The degree scaling |N(v)|^y of the paper's appendix: with y = 1 it turns a mean into a sum."""

from torch import Tensor

from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.check import Parameter, check_parameter


def scale_by_degree(aggregated: Tensor, adjacency: Adjacency, y: Parameter) -> Tensor:
    """|N(v)|^y times the aggregated message; a vertex without in-neighbours keeps its 0."""
    check_parameter("y", y, aggregated.shape[-1], aggregated.device)
    if isinstance(y, float | int) and y == 0:
        return aggregated
    degree = adjacency.degree(aggregated.dtype).clamp(min=1)[:, None]
    return aggregated * degree**y
