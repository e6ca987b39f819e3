"""The paper's networks as PyTorch Geometric's users write them, on PyG's own modules."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch_geometric.nn import DeepGCNLayer, GENConv, global_mean_pool


class EncodedEdges(nn.Module):
    """A convolution with an edge encoder of its own, inside what ``ckpt_grad`` recomputes."""

    def __init__(self, conv: nn.Module, encoder: nn.Module) -> None:
        super().__init__()
        self.conv, self.encoder = conv, encoder

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        out: Tensor = self.conv(x, edge_index, self.encoder(edge_attr))
        return out


class PyGDeeperGCN(nn.Module):
    """PyG's deep example network: GENConv in pre-activation DeepGCNLayers.

    Args:
        node_encoder: from node features to ``channels``.
        edge_encoder: a shared edge encoder, or None.
        layer_edge_encoder: makes an edge encoder for each layer; None where the layers take edge features as they are.
        outputs: the number of outputs of the linear head.
        graph_level: pool the nodes of each graph before the head.
        ckpt_grad: recompute the activations of every layer in backward, as PyG's layers do.
        conv: the options of PyG's ``GENConv``.
    """

    def __init__(
        self,
        node_encoder: nn.Module,
        outputs: int,
        *,
        channels: int,
        layers: int,
        norm: str,
        dropout: float,
        edge_encoder: nn.Module | None = None,
        layer_edge_encoder: Callable[[], nn.Module] | None = None,
        graph_level: bool = False,
        ckpt_grad: bool = False,
        **conv: object,
    ) -> None:
        super().__init__()
        self.node_encoder = node_encoder
        self.edge_encoder = edge_encoder
        self.graph_level = graph_level
        self.ckpt_grad = ckpt_grad
        self.dropout = dropout

        def convolution() -> nn.Module:
            bare = GENConv(channels, channels, norm=norm, bias=True, **conv)
            return bare if layer_edge_encoder is None else EncodedEdges(bare, layer_edge_encoder())

        self.layers = nn.ModuleList(
            DeepGCNLayer(
                convolution(),
                nn.BatchNorm1d(channels) if norm == "batch" else nn.LayerNorm(channels),
                nn.ReLU(),
                block="res+",
                dropout=dropout,
                ckpt_grad=ckpt_grad,
            )
            for i in range(layers)
        )
        self.head = nn.Linear(channels, outputs)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, batch: Tensor | None = None
    ) -> Tensor:
        x = self.node_encoder(x)
        if self.edge_encoder is not None:
            edge_attr = self.edge_encoder(edge_attr)
        layers: Any = self.layers
        for i, layer in enumerate(layers):
            if i > 0:
                x = layer(x, edge_index, edge_attr)
            elif self.ckpt_grad:  # DeepGCNLayer would leave the first convolution out, which then does not fit
                x = checkpoint(layer.conv, x, edge_index, edge_attr, use_reentrant=False)
            else:
                x = layer.conv(x, edge_index, edge_attr)
        x = layers[0].norm(x)
        if not self.graph_level:
            x = F.relu(x)
        x = F.dropout(x, self.dropout, self.training)
        if self.graph_level:
            x = global_mean_pool(x, batch)
        out: Tensor = self.head(x)
        return out


class SumOfEmbeddings(nn.Module):
    """OGB's atom and bond encoders: an embedding table a column, added up."""

    def __init__(self, sizes: tuple[int, ...], channels: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, channels) for size in sizes)

    def forward(self, columns: Tensor) -> Tensor:
        return torch.stack([table(columns[:, k]) for k, table in enumerate(self.tables)]).sum(dim=0)


class ProteinNodes(nn.Module):
    """[sums of incident edge features (8), Linear 8 -> 8 of the one-hot species] -> Linear 16 -> channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.species = nn.Linear(8, 8)
        self.both = nn.Linear(16, channels)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.both(torch.cat([x[:, :8], self.species(x[:, 8:])], dim=1))
        return out


def pyg_molhiv(atoms: tuple[int, ...], bonds: tuple[int, ...]) -> PyGDeeperGCN:
    """The paper's network for ogbg-molhiv."""
    return PyGDeeperGCN(
        SumOfEmbeddings(atoms, 256),
        1,
        channels=256,
        layers=7,
        norm="batch",
        dropout=0.5,
        layer_edge_encoder=lambda: SumOfEmbeddings(bonds, 256),
        graph_level=True,
        aggr="softmax",
        t=1.0,
        learn_t=True,
        num_layers=1,
    )


def pyg_arxiv(layers: int = 28) -> PyGDeeperGCN:
    """The paper's network for ogbn-arxiv, activations recomputed in backward."""
    return PyGDeeperGCN(
        nn.Linear(128, 128),
        40,
        channels=128,
        layers=layers,
        norm="batch",
        dropout=0.5,
        ckpt_grad=True,
        aggr="softmax",
        t=0.1,
        num_layers=1,
    )


def pyg_proteins(layers: int = 112) -> PyGDeeperGCN:
    """The paper's network for ogbn-proteins, activations recomputed in backward."""
    return PyGDeeperGCN(
        ProteinNodes(64),
        112,
        channels=64,
        layers=layers,
        norm="layer",
        dropout=0.1,
        edge_encoder=nn.Linear(8, 64),
        layer_edge_encoder=lambda: nn.Linear(64, 64),
        ckpt_grad=True,
        aggr="softmax",
        t=1.0,
        learn_t=True,
        num_layers=2,
    )
