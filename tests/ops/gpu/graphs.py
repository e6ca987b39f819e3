"""Small graphs for Triton's interpreter, which takes milliseconds for every program."""

import torch
from torch import Tensor

from deepergcn.ops.edge_order import by_sorting

EDGES = ("none", "dense", "table", "affine")


def hub_graph(nodes: int, edges: int, seed: int = 0) -> list[Tensor]:
    """The six index tensors of a graph: most edges end at node 0, others begin at node 1, the last node has none."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(max(nodes - 1, 1), (2, edges), generator=generator, dtype=torch.int32)
    edge_index[1, : 2 * edges // 3] = 0
    edge_index[0, 2 * edges // 3 :] = min(1, nodes - 1)
    order = torch.randperm(edges, generator=generator)
    return list(by_sorting(edge_index[:, order], nodes, nodes))


def edge_tensors(kind: str, edges: int, channels: int, dtype: torch.dtype, seed: int = 0) -> list[Tensor]:
    """An edge term as the operators take it."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator, dtype=torch.float64).to(dtype)

    match kind:
        case "dense":
            return [normal(edges, channels)]
        case "table":
            return [torch.randint(3, (edges,), generator=generator), normal(3, channels)]
        case "affine":
            return [normal(edges, 3), normal(channels, 3), normal(channels)]
    return []
