"""DeeperGCN on heterogeneous graphs: an encoder for every node type, a convolution for every edge type."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from torch import Tensor, nn
from torch_geometric.data import Data, HeteroData

from deepergcn.errors import InputError
from deepergcn.nn.blocks import check_dropout
from deepergcn.nn.conv.gen_conv import GENConv, GENConvOptions
from deepergcn.nn.counts import check_counts
from deepergcn.nn.encoders.nodes import NodeEncoderSpec, build_node_encoder
from deepergcn.nn.networks.graph_network import joint_dynamics
from deepergcn.nn.networks.type_dict import TypeDict
from deepergcn.nn.norm_relu_dropout import norm_relu_dropout
from deepergcn.nn.norms import NormName, build_norm
from deepergcn.nn.reset import reset_children

EdgeType = tuple[str, str, str]
"""The type of the sources, the relation, and the type of the targets."""


class HeteroDeeperGCN(nn.Module):
    """Pre-activation residual layers of :class:`GENConv`, one for every edge type, summed at their targets:

        h_t  <-  h_t + sum over edge types (s, r, t) of GENConv_r(a_s -> a_t),    a = dropout(ReLU(norm(h)))

    The first layer is the bare convolution, as in :class:`DeeperGCN`; a node type that is the target of no edge keeps
    its encoded features.

    Examples:
        >>> import torch
        >>> model = HeteroDeeperGCN(
        ...     {"author": 3, "paper": -1},
        ...     {("author", "writes", "paper"): None, ("paper", "cites", "paper"): 2},
        ...     4,
        ...     target="paper",
        ...     hidden_channels=8,
        ...     num_layers=3,
        ... )
        >>> x = {"author": torch.rand(2, 3), "paper": torch.rand(5, 6)}
        >>> writes, cites = torch.tensor([[0, 1], [0, 4]]), torch.tensor([[0, 1], [2, 2]])
        >>> edges = {("author", "writes", "paper"): writes, ("paper", "cites", "paper"): cites}
        >>> model(x, edges, {("paper", "cites", "paper"): torch.rand(2, 2)}).shape
        torch.Size([5, 4])

    Args:
        node_encoders: for every node type the width of its features (-1 takes it from the first input), the sizes of
            their categories, a module, or None if they have ``hidden_channels`` channels.
        edge_encoders: for every edge type the width of its features, the sizes of their categories, or None without
            features.
        head: the number of outputs (a Linear layer), a module, or None to return the features themselves.
        target: the node type to predict.
        hidden_channels: the width of the network.
        num_layers: the number of layers.
        norm: the normalization before the convolutions, one for every node type, and in their MLPs.
        dropout: the probability that dropout zeroes a value.
        conv: the options of :class:`GENConv`.
    """

    def __init__(
        self,
        node_encoders: Mapping[str, NodeEncoderSpec],
        edge_encoders: Mapping[EdgeType, int | Sequence[int] | None],
        head: int | nn.Module | None,
        *,
        target: str,
        hidden_channels: int,
        num_layers: int,
        norm: NormName | None = "layer",
        dropout: float = 0.0,
        **conv: Unpack[GENConvOptions],
    ) -> None:
        super().__init__()
        check_counts(hidden_channels=hidden_channels, num_layers=num_layers)
        check_dropout(dropout)
        if target not in node_encoders:
            raise InputError(f"target: expected one of the node types {', '.join(node_encoders)}, got {target!r}")
        for edge_type in edge_encoders:
            _check_edge_type(edge_type, node_encoders)
        self.target, self.dropout = target, dropout
        self.node_types, self.edge_types = tuple(node_encoders), tuple(edge_encoders)
        encoders = {name: build_node_encoder(spec, hidden_channels) for name, spec in node_encoders.items()}
        self.node_encoders = TypeDict({name: module for name, module in encoders.items() if module is not None})
        self.convs = nn.ModuleList(
            TypeDict(
                {
                    edge_type: GENConv(hidden_channels, hidden_channels, norm=norm, edge_encoder=spec, **conv)
                    for edge_type, spec in edge_encoders.items()
                }
            )
            for _ in range(num_layers)
        )
        self.norms = nn.ModuleList(
            TypeDict({name: build_norm(norm, hidden_channels) or nn.Identity() for name in node_encoders})
            for _ in range(num_layers)
        )
        self.head = nn.Linear(hidden_channels, head) if isinstance(head, int) else head

    def reset_parameters(self) -> None:
        """Draw all parameters anew, from the same distributions as at construction."""
        reset_children(self)

    def forward(
        self,
        x: Mapping[str, Tensor] | HeteroData | Data,
        edge_index: Mapping[EdgeType, Tensor] | None = None,
        edge_attr: Mapping[EdgeType, Tensor] | None = None,
    ) -> Tensor:
        """The output [nodes of the target type, outputs].

        Args:
            x: the features of every node type; or a PyG ``HeteroData``, which has all other inputs, or a ``Data`` with
                ``x_dict``, ``edge_index_dict`` and ``edge_attr_dict``.
            edge_index: the edges [2, edges] of every edge type.
            edge_attr: the features of the edge types that have an encoder.
        """
        h = self.embed(x, edge_index, edge_attr)[self.target]
        if self.head is not None:
            h = self.head(h)
        return h

    def embed(
        self,
        x: Mapping[str, Tensor] | HeteroData | Data,
        edge_index: Mapping[EdgeType, Tensor] | None = None,
        edge_attr: Mapping[EdgeType, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """The features [nodes, channels] of every node type before the head."""
        if isinstance(x, HeteroData):
            x, edge_index, edge_attr = x.collect("x"), x.collect("edge_index"), x.collect("edge_attr", True)
        elif isinstance(x, Data):
            x, edge_index, edge_attr = x.x_dict, x.edge_index_dict, x.edge_attr_dict
        edge_index, edge_attr = edge_index or {}, edge_attr or {}
        for name, given, expected in (("x", x, self.node_types), ("edge_index", edge_index, self.edge_types)):
            missing = next((one for one in expected if one not in given), None)
            if missing is not None:
                raise InputError(f"{name}: expected every type of the network, there is none for {missing!r}")
        edges = {edge_type: edge_index[edge_type] for edge_type in self.edge_types}
        attributes = {edge_type: edge_attr[edge_type] for edge_type in self.edge_types if edge_type in edge_attr}
        h = {name: self._encode(name, x[name]) for name in self.node_types}
        for i, layer in enumerate(self.convs):
            convs: Any = layer  # by edge type
            heard = h if i == 0 else self._activate(i - 1, h)
            total = {} if i == 0 else dict(h)
            for edge_type in self.edge_types:
                source, _, target = edge_type
                update = convs[edge_type]((heard[source], heard[target]), edges[edge_type], attributes.get(edge_type))
                total[target] = total[target] + update if target in total else update
            h = h | total
        return self._activate(len(self.convs) - 1, h)

    def dynamics(self) -> list[dict[str, float | list[float]]]:
        """The current beta, p, y and s of every layer, those of its edge types together."""
        return [joint_dynamics([*layer.children()]) for layer in self.convs]

    def _encode(self, name: str, x: Tensor) -> Tensor:
        return self.node_encoders[name](x) if name in self.node_encoders else x

    def _activate(self, i: int, h: Mapping[str, Tensor]) -> dict[str, Tensor]:
        norms: Any = self.norms[i]  # by node type
        return {name: norm_relu_dropout(norms[name], value, self.dropout, self.training) for name, value in h.items()}


def _check_edge_type(edge_type: EdgeType, node_types: Mapping[str, NodeEncoderSpec]) -> None:
    if not isinstance(edge_type, tuple) or len(edge_type) != 3:
        raise InputError(f"edge_encoders: expected (source type, relation, target type) as a key, got {edge_type!r}")
    for name in (edge_type[0], edge_type[2]):
        if name not in node_types:
            raise InputError(f"edge_encoders: {edge_type!r} names {name!r}, which is not a node type")
