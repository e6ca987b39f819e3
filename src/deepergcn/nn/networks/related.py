"""Networks that the paper builds on, or cites as other ways to go deep, in its frame and on PyG's modules.

APPNP and GCNII multiply by the normalized adjacency matrix without PyG's messages, one tensor of the size of the edges
in every layer, unless an explainer or a hook asks for these.

DropEdge is a setting of training (``training.drop_edge``) and PairNorm a normalization (``norm="pair"``), both for any
network.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import APPNP as Propagation  # noqa: N811, the network has this name here
from torch_geometric.nn import GATConv, GCN2Conv, JumpingKnowledge

from deepergcn.errors import InputError
from deepergcn.nn.blocks import Block
from deepergcn.nn.encoders.edges import EdgeInput
from deepergcn.nn.networks.baselines import GCN, Baseline, EncodedConv
from deepergcn.nn.networks.graph_network import MakeConv, Wiring, network_inputs
from deepergcn.nn.networks.propagation import NormalizedAdjacency, needs_messages
from deepergcn.nn.norms import NormName
from deepergcn.nn.pyg.adjacency_cache import cached_adjacency
from deepergcn.nn.reversible.layers import RevBlock
from deepergcn.nn.unchanged import is_unchanged
from deepergcn.ops import Adjacency


class GAT(Baseline):
    """GAT (Veličković et al. 2018): attention of ``HEADS`` heads side by side; edge features take part in it."""

    HEADS = 8

    @classmethod
    def make_conv(cls, in_channels: int, out_channels: int, has_edges: bool) -> nn.Module:
        if out_channels % cls.HEADS:
            raise InputError(f"hidden_channels: expected a multiple of the {cls.HEADS} heads, got {out_channels}")
        edges = out_channels if has_edges else None
        conv: nn.Module = GATConv(in_channels, out_channels // cls.HEADS, heads=cls.HEADS, edge_dim=edges)
        return conv


class JKNet(GCN):
    """JK-Net (Xu et al. 2018): GCN whose last features are the maximum over those of all layers, by channel."""

    VIRTUAL_NODE = SEGMENTS = False

    def _through_layers(
        self, h: Tensor, graph: Tensor | Adjacency, edge: EdgeInput | None, batch: Tensor | None, num_graphs: int
    ) -> Tensor:
        outputs = []
        for layer in self._blocks():
            h = layer(h, graph, edge)
            outputs.append(h)
        out: Tensor = JumpingKnowledge("max")(outputs)
        return out


class InitialResidual(Baseline):
    """A network in which every layer also hears h_0 = ReLU(encoder(x)), a share ``ALPHA`` of it; no edge features."""

    ALPHA = 0.1
    VIRTUAL_NODE = SEGMENTS = False

    @classmethod
    def make_conv(cls, in_channels: int, out_channels: int, has_edges: bool) -> nn.Module:
        if has_edges:
            raise InputError(f"edge_encoder: {cls.__name__} takes no edge features; expected None")
        return PageRankStep(cls.ALPHA)

    def shared_graph(self, edge_index: Tensor | Adjacency, num_nodes: int) -> Tensor | Adjacency:
        if needs_messages(self.layers):
            return super().shared_graph(edge_index, num_nodes)
        return cached_adjacency(edge_index, num_nodes, num_nodes)

    def _through_layers(
        self, h: Tensor, graph: Tensor | Adjacency, edge: EdgeInput | None, batch: Tensor | None, num_graphs: int
    ) -> Tensor:
        return self._from(self._first(h), graph, edge)

    def _first(self, h: Tensor) -> Tensor:
        """h_0."""
        return F.dropout(F.relu(h), self.dropout, self.training)

    def _from(self, first: Tensor, graph: Tensor | Adjacency, edge: EdgeInput | None) -> Tensor:
        """What the layers make of h_0."""
        matrix = NormalizedAdjacency.of(graph, first.dtype) if isinstance(graph, Adjacency) else graph
        h = first
        for layer in self._blocks():
            h = layer(h, matrix, edge, first)
        return h


class APPNP(InitialResidual):
    """APPNP (Klicpera et al. 2019): ``num_layers`` steps of personalized PageRank, which have no weights.

    h_{l+1} = (1 - alpha) A h_l + alpha h_0,    A the normalized adjacency matrix of GCN

    The encoder and the head are the MLP whose outputs are propagated: the linear head commutes with the steps, up to
    its bias. It therefore comes before them where the outputs are fewer than the channels; ``embed`` returns the
    propagated features in any case.
    """

    def forward(
        self,
        x: Tensor | Data,
        edge_index: Tensor | Adjacency | None = None,
        edge_attr: EdgeInput | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        edge_label_index: Tensor | None = None,
        descriptors: Tensor | None = None,
    ) -> Tensor:
        """The output [nodes, outputs], [graphs, outputs] or [pairs, outputs], see :class:`GraphNetwork`."""
        head = self.head
        if not (isinstance(head, nn.Linear) and self._narrows(head)):
            return super().forward(x, edge_index, edge_attr, batch, num_graphs, edge_label_index, descriptors)
        given = network_inputs(x, edge_index, edge_attr, batch, num_graphs)
        h = self._encode_nodes(given.x)
        graph = self.shared_graph(given.edge_index, h.shape[0])
        out = self._from(F.linear(self._first(h), head.weight), graph, None)
        return out if head.bias is None else out + head.bias

    def _narrows(self, head: nn.Linear) -> bool:
        """Whether the head makes the features of vertices narrower, and nobody watches it or the layers."""
        narrows = self.level == "node" and type(head) is nn.Linear and head.out_features < self.hidden_channels
        unchanged = all(map(is_unchanged, (head, *self.layers.modules())))
        return narrows and unchanged and not needs_messages(self.layers)

    def _wiring(self, i: int, count: int, block: str) -> Wiring:
        return Wiring(block, norm=False, relu=False)


class GCNII(InitialResidual):
    """GCNII (Chen et al. 2020): initial residual and identity mapping,

    h_{l+1} = ReLU(norm(((1 - alpha) A h_l + alpha h_0) ((1 - beta_l) I + beta_l W_l))),    beta_l = log(theta / l + 1)
    """

    THETA = 0.5

    def _layer(self, wiring: Wiring, i: int, make_conv: MakeConv, norm: NormName | None) -> Block | RevBlock:
        def make(in_channels: int, out_channels: int) -> nn.Module:
            step = make_conv(in_channels, out_channels)
            assert isinstance(step, EncodedConv)
            return EncodedConv(IdentityMapping(in_channels, self.ALPHA, self.THETA, i + 1), step.edge_encoder)

        return super()._layer(wiring, i, make, norm)


class PageRankStep(nn.Module):
    """One step of APPNP."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self.alpha = alpha
        self.propagation = Propagation(K=1, alpha=0.0)

    def forward(self, x: Tensor, graph: Tensor | NormalizedAdjacency, first: Tensor) -> Tensor:
        moved = graph.times(x) if isinstance(graph, NormalizedAdjacency) else self.propagation(x, graph)
        return torch.lerp(moved, first, self.alpha)


class IdentityMapping(nn.Module):
    """PyG's convolution of GCNII, with the order of arguments that blocks have."""

    def __init__(self, channels: int, alpha: float, theta: float, layer: int) -> None:
        super().__init__()
        self.conv = GCN2Conv(channels, alpha, theta, layer)

    def forward(self, x: Tensor, graph: Tensor | NormalizedAdjacency, first: Tensor) -> Tensor:
        alpha, beta = self.conv.alpha, self.conv.beta
        if isinstance(graph, NormalizedAdjacency):
            mixed = (1 - alpha) * graph.times(x) + alpha * first
            return torch.addmm(mixed, mixed, self.conv.weight1, beta=1 - beta, alpha=beta)
        out: Tensor = self.conv(x, first, graph)
        return out
