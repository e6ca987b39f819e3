"""The frame that all networks share: encoders, layers, an optional virtual node, and a head."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypedDict

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from deepergcn.errors import InputError
from deepergcn.nn.blocks import Block, PlainBlock, ResPlusBlock, block_class, check_dropout
from deepergcn.nn.conv.gen_conv import GENConv
from deepergcn.nn.counts import check_counts
from deepergcn.nn.descriptors import DescriptorEncoder, DescriptorWidths
from deepergcn.nn.encoders.edges import EdgeEncoder, EdgeEncoderSpec, EdgeInput, build_edge_encoder
from deepergcn.nn.encoders.nodes import NodeEncoderSpec, build_node_encoder
from deepergcn.nn.links import LinkPredictor
from deepergcn.nn.networks.predict_layers import predict_pooled
from deepergcn.nn.networks.run_layers import Surroundings, run_layers
from deepergcn.nn.norm_relu_dropout import norm_relu_dropout
from deepergcn.nn.norms import NormName, build_norm
from deepergcn.nn.pooling import Pooling, check_pooling, pool
from deepergcn.nn.reset import reset_children
from deepergcn.nn.reversible.function import reversible
from deepergcn.nn.reversible.layers import RevBlock, VirtualNodes
from deepergcn.nn.reversible.slim import slim
from deepergcn.nn.virtual_node import VirtualNode
from deepergcn.ops import Adjacency
from deepergcn.ops.operators.aggregation import is_eager

MakeConv = Callable[[int, int], nn.Module]
"""Makes a convolution from the widths of its input and output."""


class FrameOptions(TypedDict, total=False):
    """The options of :class:`GraphNetwork`, for networks that pass them on."""

    edge_encoder: EdgeEncoderSpec
    norm: NormName | None
    dropout: float
    level: Literal["node", "graph", "link"]
    pooling: Pooling
    virtual_node: bool
    checkpoint: bool
    tied_layers: int
    groups: int
    rebuild: bool
    descriptors: DescriptorWidths | None


class GraphNetwork(nn.Module):
    """Node encoder, ``num_layers`` convolutions in blocks, and a head: the base class of all networks.

    A class whose layers leave no place for a virtual node has ``VIRTUAL_NODE = False``; one that runs them in a loop of
    its own has ``SEGMENTS = False``.

    Args:
        make_conv: makes the convolution of a layer from the widths of its input and output.
        node_encoder: the width of the node features (a Linear layer), -1 to take it from the first input, the sizes of
            their categories (embedding tables), a module, or None if they have ``hidden_channels`` channels.
        head: the number of outputs (a Linear layer; for pairs of vertices a :class:`LinkPredictor`), a module, or None
            to return the features themselves.
        hidden_channels: the width of the network.
        num_layers: the number of layers.
        block: how layers are connected: plain, res, res+, dense or rev (reversible).
        edge_encoder: a shared encoder of the edge features, applied once and passed to every layer: their width, the
            sizes of their categories, an :class:`EdgeEncoder`, or None.
        norm: the normalization in the blocks: batch, layer, instance, pair (for tasks on nodes) or None.
        dropout: the probability that dropout zeroes a value.
        level: "node" for one output per vertex, "graph" for one per graph, "link" for one per pair of vertices.
        pooling: the pooling from vertices to graphs: mean, sum or max.
        virtual_node: add a virtual node to every graph.
        checkpoint: recompute every layer's activations in backward instead of keeping them.
        tied_layers: the number of consecutive layers that share one set of weights; ``num_layers`` ties them all. A
            layer that is connected differently, such as the first of res+, has its own weights.
        groups: the number of groups of channels of reversible layers.
        rebuild: whether backward rebuilds the activations of reversible layers; False keeps them.
        descriptors: the widths of the descriptors of every graph, which are encoded and concatenated with its pooled
            features; None if there are none.
    """

    VIRTUAL_NODE = True
    SEGMENTS = True

    def __init__(
        self,
        make_conv: MakeConv,
        node_encoder: NodeEncoderSpec,
        head: int | nn.Module | None,
        *,
        hidden_channels: int,
        num_layers: int,
        block: str,
        edge_encoder: EdgeEncoderSpec = None,
        norm: NormName | None = "batch",
        dropout: float = 0.0,
        level: Literal["node", "graph", "link"] = "node",
        pooling: Pooling = "mean",
        virtual_node: bool = False,
        checkpoint: bool = False,
        tied_layers: int = 1,
        groups: int = 2,
        rebuild: bool = True,
        descriptors: DescriptorWidths | None = None,
    ) -> None:
        super().__init__()
        check_counts(hidden_channels=hidden_channels, num_layers=num_layers, tied_layers=tied_layers)
        if level not in ("node", "graph", "link"):
            raise InputError(f"level: expected node, graph or link, got {level!r}")
        if virtual_node and not self.VIRTUAL_NODE:
            raise InputError(f"virtual_node: expected False, {type(self).__name__} takes none")
        if norm == "pair" and (level == "graph" or virtual_node):
            raise InputError("norm: pair takes all vertices together; expected another for graphs or a virtual node")
        if virtual_node and block == "dense":
            raise InputError("virtual_node: expected False with dense blocks, whose width grows from layer to layer")
        if tied_layers > 1 and block == "dense":
            raise InputError("tied_layers: expected 1 with dense blocks, whose width grows from layer to layer")
        if descriptors is not None and level != "graph":
            raise InputError("descriptors: are of whole graphs; expected None at the level of " + level + "s")
        if block == "rev":
            _check_groups(groups, hidden_channels, checkpoint)
        check_pooling(pooling)
        check_dropout(dropout)
        self.hidden_channels = hidden_channels
        self.level = level
        self.pooling = pooling
        self.dropout = dropout
        self.checkpoint = checkpoint
        self._segments = (1,) * num_layers if checkpoint else ()
        self.node_encoder = build_node_encoder(node_encoder, hidden_channels)
        self.edge_encoder = build_edge_encoder(edge_encoder, hidden_channels)
        self.groups, self.rebuild = groups, rebuild
        wirings = [self._wiring(i, num_layers, block) for i in range(num_layers)]
        firsts = [i for i in range(num_layers) if i % tied_layers == 0 or wirings[i] != wirings[i - 1]]
        self.layers = nn.ModuleList(self._layer(wirings[i], i, make_conv, norm) for i in firsts)
        self._layer_order = tuple(bisect_right(firsts, i) - 1 for i in range(num_layers))
        self.pre_activation = block in ("res+", "rev")
        self.norm = build_norm(norm, hidden_channels) if self.pre_activation else None
        self.virtual_node = VirtualNode(hidden_channels, num_layers, norm, dropout) if virtual_node else None
        self.out_channels = hidden_channels * (num_layers + 1) if block == "dense" else hidden_channels
        self.descriptors = None
        if descriptors is not None:
            self.descriptors = DescriptorEncoder(descriptors, hidden_channels, dropout)
            self.out_channels += hidden_channels
        self.head = _build_head(head, self.out_channels, level, dropout)

    def reset_parameters(self) -> None:
        """Draw all parameters anew, from the same distributions as at construction."""
        reset_children(self)

    def _wiring(self, i: int, count: int, block: str) -> "Wiring":
        """How layer ``i`` is wired: the first of residual networks and the last of plain ones differ."""
        if block in ("res", "res+") and i == 0:
            return Wiring("plain", norm=block == "res", relu=block == "res")
        return Wiring(block, relu=not (block == "plain" and i == count - 1 and self.level == "graph"))

    def _layer(self, wiring: "Wiring", i: int, make_conv: MakeConv, norm: NormName | None) -> Block | RevBlock:
        width = self.hidden_channels
        if wiring.block == "rev":
            part = width // self.groups
            reversible_layer = RevBlock(
                [ResPlusBlock(make_conv(part, part), build_norm(norm, part), self.dropout) for _ in range(self.groups)]
            )
            slim(reversible_layer)
            return reversible_layer
        conv = make_conv(width * (i + 1) if wiring.block == "dense" else width, width)
        recomputed = self.checkpoint and not self.SEGMENTS
        if not wiring.norm:
            return PlainBlock(conv, relu=wiring.relu, checkpoint=recomputed)
        cls = block_class(wiring.block)
        return cls(conv, build_norm(norm, width), self.dropout, wiring.relu, recomputed)

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
        """The output [nodes, outputs], [graphs, outputs] at the level of graphs, or [pairs, outputs] at that of links.

        Args:
            x: node features [nodes, ...]; or a PyG ``Data`` or ``Batch``, which has all other inputs.
            edge_index: [2, edges], an ``Adjacency``, or a sparse tensor in PyG's ``adj_t`` convention.
            edge_attr: edge features [edges, ...], if the network has an edge encoder.
            batch: [nodes], the graph that each vertex belongs to; None for one graph.
            num_graphs: the number of graphs; by default the highest number in ``batch`` plus one.
            edge_label_index: [2, pairs], the pairs of vertices at the level of links.
            descriptors: [graphs, ...], the descriptors of graphs, if the network uses them.
        """
        h = self.embed(x, edge_index, edge_attr, batch, num_graphs, descriptors)
        if self.head is None:
            return h
        pairs = x.get("edge_label_index") if isinstance(x, Data) else edge_label_index
        if pairs is None and self.level == "link":
            raise InputError("edge_label_index: expected the pairs of vertices [2, pairs], got None")
        out: Tensor = self.head(h, pairs) if self.level == "link" else self.head(h)
        return out

    def embed(
        self,
        x: Tensor | Data,
        edge_index: Tensor | Adjacency | None = None,
        edge_attr: EdgeInput | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        descriptors: Tensor | None = None,
    ) -> Tensor:
        """The input of the head: features of vertices [nodes, channels], or of graphs [graphs, channels].

        The features of a graph are pooled from its vertices and, if it has descriptors, concatenated with their
        encoding.
        """
        given_descriptors = x.get("descriptors") if isinstance(x, Data) else descriptors
        given = network_inputs(x, edge_index, edge_attr, batch, num_graphs)
        h = self._encode_nodes(given.x)
        graph = self.shared_graph(given.edge_index, h.shape[0])
        edge = self._prepare_edges(given.edge_attr)
        batch, num_graphs = self._graphs(given, h)
        h = self._through_layers(h, graph, edge, batch, num_graphs)
        pooled: Tensor | None = None
        if self.pre_activation and self.level == "graph" and batch is not None:
            pooled = predict_pooled(self.norm, h, batch, num_graphs, self.pooling)
        if self.pre_activation and pooled is None:
            h = norm_relu_dropout(self.norm, h, self.dropout, self.training, relu=self.level != "graph")
        if self.level != "graph" or batch is None:
            return h
        pooled = pool(self.pooling, h, batch, num_graphs) if pooled is None else pooled
        if self.descriptors is None:
            return pooled
        return torch.cat((pooled, self.descriptors(given_descriptors, num_graphs)), dim=1)

    def recompute_segments(self, segments: Sequence[int]) -> None:
        """Recompute these segments of consecutive layers, from the first layer on, in backward; keep only their inputs.

        ``checkpoint=True`` makes a segment of every layer; longer ones keep less, and every recomputed layer costs one
        more forward. The results are the same bit for bit. Reversible layers keep no activations in any case.
        """
        depth = len(self._layer_order)
        if any(length < 1 for length in segments) or sum(segments) > depth:
            raise InputError(f"segments: expected lengths of at least 1 that add up to at most {depth}, got {segments}")
        if not self.SEGMENTS:
            raise InputError(f"segments: {type(self).__name__} recomputes all of its layers, by checkpoint, or none")
        if segments and any(isinstance(layer, RevBlock) for layer in self.layers):
            raise InputError("segments: expected none with rev blocks, which rebuild their activations in backward")
        self._segments = tuple(segments)

    def shared_graph(self, edge_index: Tensor | Adjacency, num_nodes: int) -> Tensor | Adjacency:
        """The graph in the form that the convolutions share, made once a forward pass."""
        raise NotImplementedError

    def dynamics(self) -> list[dict[str, float | list[float]]]:
        """The current values of beta, p, y and s that each layer has."""
        return [joint_dynamics(layer.convs) for layer in self._blocks()]

    def _blocks(self) -> list[Block | RevBlock]:
        """The layers from the first to the last; tied ones are the same object."""
        distinct = [layer for layer in self.layers if isinstance(layer, Block | RevBlock)]
        return [distinct[place] for place in self._layer_order]

    def _encode_nodes(self, x: Tensor) -> Tensor:
        if self.node_encoder is not None:
            h: Tensor = self.node_encoder(x)
            return h
        if x.dim() != 2 or x.shape[1] != self.hidden_channels or not x.is_floating_point():
            raise InputError(
                f"x: expected a floating-point tensor [nodes, {self.hidden_channels}], since the network has no node "
                f"encoder, got {x.dtype} {list(x.shape)}"
            )
        return x

    def _prepare_edges(self, edge: EdgeInput | None) -> EdgeInput | None:
        """Do once what is the same for all layers: the shared encoder, or the numbering of categories."""
        encoder = getattr(self._blocks()[0].convs[0], "edge_encoder", None)
        if edge is None:
            if self.edge_encoder is not None or encoder is not None:
                raise InputError("edge_attr: expected edge features, since the network was built with an edge encoder")
            return None
        if self.edge_encoder is not None:
            term: EdgeInput = self.edge_encoder(edge)
            return term
        return encoder.prepare(edge) if isinstance(encoder, EdgeEncoder) else edge

    def _graphs(self, given: "Inputs", h: Tensor) -> tuple[Tensor | None, int]:
        if self.level != "graph" and self.virtual_node is None:
            return None, 0
        batch = given.batch
        if batch is None:
            return h.new_zeros(h.shape[0], dtype=torch.int64), 1
        if batch.shape != (h.shape[0],) or batch.dtype not in (torch.int64, torch.int32):
            raise InputError(f"batch: expected integers [{h.shape[0]}], got {batch.dtype} {list(batch.shape)}")
        count = given.num_graphs
        if count is None:
            count = int(batch.max()) + 1 if batch.numel() else 0
            if count and batch.device.type == "cpu" and is_eager(batch) and int(batch.min()) < 0:
                raise InputError(f"batch: expected the number of a graph for every node, got {int(batch.min())}")
        return batch.long(), count

    def _through_layers(
        self, h: Tensor, graph: Tensor | Adjacency, edge: EdgeInput | None, batch: Tensor | None, num_graphs: int
    ) -> Tensor:
        layers = self._blocks()
        v: Tensor | None = None
        if self.virtual_node is not None and batch is not None:
            v = self.virtual_node.start(num_graphs)
            h = h + self.virtual_node.to_vertices(v, batch)
        reversibles = [layer for layer in layers if isinstance(layer, RevBlock)]
        if reversibles:
            nodes = None
            if self.virtual_node is not None and v is not None and batch is not None:
                nodes = VirtualNodes(self.virtual_node, v, batch)
            return reversible(reversibles, h, graph, edge, nodes, rebuild=self.rebuild and _can_rebuild(self.layers))
        around = Surroundings(graph, edge, self.virtual_node, batch)
        return run_layers([layer for layer in layers if isinstance(layer, Block)], h, v, around, self._segments)


def _build_head(
    head: int | nn.Module | None, channels: int, level: Literal["node", "graph", "link"], dropout: float
) -> nn.Module | None:
    if head is None or isinstance(head, nn.Module):
        return head
    check_counts(head=head)
    return LinkPredictor(channels, head, dropout=dropout) if level == "link" else nn.Linear(channels, head)


class Wiring(NamedTuple):
    """A block, and whether it has its normalization and its ReLU."""

    block: str
    norm: bool = True
    relu: bool = True


def _check_groups(groups: int, hidden_channels: int, checkpoint: bool) -> None:
    check_counts(groups=groups)
    if groups < 2 or hidden_channels % groups:
        raise InputError(f"groups: expected at least 2 that divide the hidden_channels {hidden_channels}, got {groups}")
    if checkpoint:
        raise InputError("checkpoint: expected False with rev blocks, which rebuild their activations in backward")


def _can_rebuild(layers: nn.Module) -> bool:
    """Whether backward can tell all that it needs: not with masks of an explainer, nor with widths still unknown."""
    return not any(isinstance(module, GENConv) and module.explain for module in layers.modules()) and not any(
        isinstance(parameter, nn.UninitializedParameter) for parameter in layers.parameters()
    )


def joint_dynamics(convs: Sequence[nn.Module]) -> dict[str, float | list[float]]:
    """The values of one convolution, or those of several side by side."""
    found = [conv.dynamics() for conv in convs if isinstance(conv, GENConv)]
    if len(found) < 2:
        return found[0] if found else {}
    lists = {name: [f[name] for f in found] for name in found[0]}
    return {
        name: [number for value in values for number in (value if isinstance(value, list) else [value])]
        for name, values in lists.items()
    }


class Inputs(NamedTuple):
    """What a forward pass is given."""

    x: Tensor
    edge_index: Tensor | Adjacency
    edge_attr: EdgeInput | None
    batch: Tensor | None
    num_graphs: int | None


def network_inputs(
    x: Tensor | Data,
    edge_index: Tensor | Adjacency | None,
    edge_attr: EdgeInput | None,
    batch: Tensor | None,
    num_graphs: int | None,
) -> Inputs:
    """What a forward pass was given, taken out of a PyG ``Data`` where it is in one."""
    if not isinstance(x, Tensor):
        if not isinstance(x, Data):
            raise InputError(f"x: expected a tensor or a PyG Data, got {type(x).__name__}")
        data = x
        x = data.x
        edge_index = next(
            (data[key] for key in ("adjacency", "adj_t", "edge_index") if data.get(key) is not None), None
        )
        edge_attr, batch = data.edge_attr, data.get("batch")
        num_graphs = data.num_graphs if batch is not None and hasattr(data, "num_graphs") else None
        if x is None:
            raise InputError("x: expected node features, the graph has none")
        if not isinstance(x, Tensor):
            raise InputError(f"x: expected a tensor of node features, the graph has a {type(x).__name__}")
    if edge_index is None:
        raise InputError("edge_index: expected the edges of the graph, got None")
    return Inputs(x, edge_index, edge_attr, batch, num_graphs)
