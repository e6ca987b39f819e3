"""Our convolution in PyTorch Geometric's heterogeneous models."""

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn

from deepergcn.nn import GENConv

X = {"author": torch.rand(7, 3), "paper": torch.rand(5, 4)}
EDGES = {
    ("author", "writes", "paper"): torch.tensor([[0, 6, 3], [0, 4, 4]]),
    ("paper", "written_by", "author"): torch.tensor([[0, 4, 4], [0, 6, 3]]),
    ("paper", "cites", "paper"): torch.tensor([[0, 1], [2, 2]]),
}


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = GENConv((-1, -1), 8, norm="layer")
        self.second = GENConv((8, 8), 8, aggr="max", norm="layer")

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.first(x, edge_index).relu()
        out: Tensor = self.second(x, edge_index)
        return out


@pytest.mark.parametrize("aggr", ["sum", "mean"])
def test_to_hetero(aggr: str) -> None:
    model = pyg.to_hetero(Model(), (list(X), list(EDGES)), aggr)
    out = model(X, EDGES)
    assert {name: tuple(value.shape) for name, value in out.items()} == {"author": (7, 8), "paper": (5, 8)}
    torch.stack([value.square().sum() for value in out.values()]).sum().backward()
    widths = {key: conv.source_projection.weight.shape[1] for key, conv in model.first.items()}
    assert widths == {
        "author__writes__paper": 3,
        "paper__written_by__author": 4,
        "paper__cites__paper": 4,
    }


def test_hetero_conv_is_the_sum_over_edge_types() -> None:
    convs = {edge_type: GENConv((-1, -1), 8, norm="layer") for edge_type in EDGES}
    out = pyg.HeteroConv(convs, aggr="sum")(X, EDGES)
    by_hand = sum(
        convs[edge_type]((X[edge_type[0]], X["paper"]), edge_index)
        for edge_type, edge_index in EDGES.items()
        if edge_type[2] == "paper"
    )
    torch.testing.assert_close(out["paper"], by_hand)
