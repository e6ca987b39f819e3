"""Networks built from PyG's own modules, as its users and its examples write them, and a comparison of two models."""

from typing import Any

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0, 5, 5, 2, 6], [1, 0, 1, 4, 4, 2, 6, 5, 3, 0]])
"""A graph of seven vertices, each with an in-edge; one has two, one hears itself."""


def features(channels: int, *, rows: int = 7, low: float = -2.0, high: float = 2.0) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(rows, channels, generator=generator, dtype=torch.float64) * (high - low) + low


class DeeperGCN(nn.Module):
    """The network of PyG's example for ogbn-proteins, smaller."""

    def __init__(self, num_layers: int = 4, block: str = "res+", **options: Any) -> None:
        super().__init__()
        self.node_encoder = nn.Linear(3, 8)
        self.edge_encoder = nn.Linear(2, 8)
        options = {"aggr": "softmax", "t": 1.0, "learn_t": True, "num_layers": 2, "norm": "layer", **options}
        self.layers = nn.ModuleList(
            pyg.DeepGCNLayer(
                pyg.GENConv(8, 8, **options),
                nn.LayerNorm(8, elementwise_affine=True),
                nn.ReLU(inplace=True),
                block=block,
                dropout=0.1,
                ckpt_grad=i % 3 == 2,
            )
            for i in range(num_layers)
        )
        self.lin = nn.Linear(8, 5)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x = self.node_encoder(x)
        edge_attr = self.edge_encoder(edge_attr)
        first: Any = self.layers[0]
        x = first.conv(x, edge_index, edge_attr)
        for layer in self.layers[1:]:
            x = layer(x, edge_index, edge_attr)
        x = first.act(first.norm(x))
        out: Tensor = self.lin(x)
        return out


def outcome(model: nn.Module, *arguments: Any) -> tuple[Tensor, list[Tensor | None], list[Tensor]]:
    """Output, gradients of the inputs, and gradients of all parameters, of a weighted sum of the output."""
    leaves = [a.detach().clone().requires_grad_() if _is_real(a) else a for a in arguments]
    model.zero_grad()
    out = model(*leaves)
    (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)).sum().backward()
    inputs = [leaf.grad for leaf in leaves if _is_real(leaf)]
    return out.detach(), inputs, [p.grad.clone() for p in model.parameters() if p.grad is not None]


def _is_real(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
