"""The networks that the paper compares with, in the frame of DeeperGCN, on PyG's convolutions where PyG has them."""

from collections.abc import Sequence
from typing import Unpack

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv, GINEConv, MessagePassing, ResGatedGraphConv, SAGEConv
from torch_geometric.utils import degree

from deepergcn.errors import InputError
from deepergcn.nn.encoders.edges import EdgeInput, build_edge_encoder
from deepergcn.nn.encoders.nodes import NodeEncoderSpec
from deepergcn.nn.networks.gaan import GaANConv
from deepergcn.nn.networks.graph_network import FrameOptions, GraphNetwork
from deepergcn.nn.norms import BatchNorm
from deepergcn.nn.pyg.adjacency_cache import cached_adjacency
from deepergcn.nn.pyg.names import NETWORK, pyg_names
from deepergcn.ops import Adjacency, EdgeTerm


class Baseline(GraphNetwork):
    """A network of another convolution in the frame of :class:`GraphNetwork`.

    Edge features take part where the network has an edge encoder, shared or in every layer; without one they are
    ignored, as these networks ignore them.
    """

    BLOCK = "plain"

    @pyg_names(NETWORK)
    def __init__(
        self,
        node_encoder: NodeEncoderSpec,
        head: int | nn.Module | None,
        *,
        hidden_channels: int,
        num_layers: int,
        layer_edge_encoder: int | Sequence[int] | None = None,
        **options: Unpack[FrameOptions],
    ) -> None:
        has_edges = layer_edge_encoder is not None or options.get("edge_encoder") is not None

        def make_conv(in_channels: int, out_channels: int) -> nn.Module:
            encoder = build_edge_encoder(layer_edge_encoder, out_channels)
            return EncodedConv(self.make_conv(in_channels, out_channels, has_edges), encoder)

        super().__init__(
            make_conv,
            node_encoder,
            head,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            block=self.BLOCK,
            **options,
        )

    @classmethod
    def make_conv(cls, in_channels: int, out_channels: int, has_edges: bool) -> nn.Module:
        """The convolution, called as ``conv(x, edge_index)``, or with an edge term [edges, channels] besides."""
        raise NotImplementedError

    def shared_graph(self, edge_index: Tensor | Adjacency, num_nodes: int) -> Tensor | Adjacency:
        adjacency = cached_adjacency(edge_index, num_nodes, num_nodes)
        if isinstance(edge_index, Tensor) and edge_index.layout == torch.strided:
            return edge_index.long()
        return adjacency.edge_index()


class EncodedConv(nn.Module):
    """A convolution that takes the edge term as a tensor, behind its own edge encoder or a shared one."""

    def __init__(self, conv: nn.Module, edge_encoder: nn.Module | None) -> None:
        super().__init__()
        self.conv = conv
        self.edge_encoder = edge_encoder

    def forward(self, x: Tensor, edge_index: Tensor, edge: EdgeInput | None, *others: Tensor) -> Tensor:
        if self.edge_encoder is not None:
            edge = self.edge_encoder(edge)
        terms = (edge.materialize(),) if isinstance(edge, EdgeTerm) else ()
        out: Tensor = self.conv(x, edge_index, *terms, *others)
        return out


class GCN(Baseline):
    """GCN (Kipf and Welling 2017), with edge features in OGB's form of it."""

    @classmethod
    def make_conv(cls, in_channels: int, out_channels: int, has_edges: bool) -> nn.Module:
        return GCNEdgeConv(in_channels, out_channels) if has_edges else GCNConv(in_channels, out_channels)


class GraphSAGE(Baseline):
    """GraphSAGE (Hamilton et al. 2017) with the mean aggregator; it takes no edge features."""

    @classmethod
    def make_conv(cls, in_channels: int, out_channels: int, has_edges: bool) -> nn.Module:
        if has_edges:
            raise InputError("edge_encoder: GraphSAGE takes no edge features; expected None")
        conv: nn.Module = SAGEConv(in_channels, out_channels)
        return conv


class GIN(Baseline):
    """GIN (Xu et al. 2019), with edge features as GINE; with ``virtual_node=True`` the paper's GIN*."""

    @classmethod
    def make_conv(cls, in_channels: int, out_channels: int, has_edges: bool) -> nn.Module:
        mlp = nn.Sequential(
            nn.Linear(in_channels, 2 * out_channels),
            BatchNorm(2 * out_channels),
            nn.ReLU(),
            nn.Linear(2 * out_channels, out_channels),
        )
        conv: nn.Module = GINEConv(mlp, train_eps=True) if has_edges else GINConv(mlp, train_eps=True)
        return conv


class GatedGCN(Baseline):
    """GatedGCN (Bresson and Laurent 2018), with residual connections."""

    BLOCK = "res"

    @classmethod
    def make_conv(cls, in_channels: int, out_channels: int, has_edges: bool) -> nn.Module:
        conv: nn.Module = ResGatedGraphConv(in_channels, out_channels, edge_dim=out_channels if has_edges else None)
        return conv


class GaAN(Baseline):
    """GaAN (Zhang et al. 2018): gated multi-head attention."""

    @classmethod
    def make_conv(cls, in_channels: int, out_channels: int, has_edges: bool) -> nn.Module:
        return GaANConv(in_channels, out_channels)


class GCNEdgeConv(MessagePassing):
    """GCN with edge features as in OGB's baselines, d_v = |N(v)| + 1:

    h_v' = sum_u ReLU(W h_u + h_e) / sqrt(d_u d_v) + ReLU(W h_v + r) / d_v
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(aggr="sum")
        self.linear = nn.Linear(in_channels, out_channels)
        self.root = nn.Parameter(torch.zeros(out_channels))

    def reset_parameters(self) -> None:
        self.linear.reset_parameters()
        nn.init.zeros_(self.root)

    def forward(self, x: Tensor, edge_index: Tensor, edge: Tensor) -> Tensor:
        x = self.linear(x)
        d = degree(edge_index[1], x.shape[0], dtype=x.dtype) + 1
        weight = (d[edge_index[0]] * d[edge_index[1]]).rsqrt()
        out: Tensor = self.propagate(edge_index, x=x, edge=edge, weight=weight) + (x + self.root).relu() / d[:, None]
        return out

    def message(self, x_j: Tensor, edge: Tensor, weight: Tensor) -> Tensor:
        return weight[:, None] * (x_j + edge).relu()
