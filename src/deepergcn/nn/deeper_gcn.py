"""DeeperGCN: a deep network of GENConv layers."""

from collections.abc import Callable, Sequence
from typing import Unpack

from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn.adjacency_cache import cached_adjacency
from deepergcn.nn.encoders import EdgeEncoder
from deepergcn.nn.gen_conv import GENConv, GENConvOptions
from deepergcn.nn.graph_network import FrameOptions, GraphNetwork
from deepergcn.nn.node_encoders import NodeEncoderSpec
from deepergcn.ops import Adjacency


class DeeperGCNOptions(FrameOptions, GENConvOptions, total=False):
    """The options of :class:`DeeperGCN`: those of the frame and those of its convolutions."""

    block: str
    layer_edge_encoder: int | Sequence[int] | Callable[[], EdgeEncoder] | None


_FRAME = frozenset(FrameOptions.__annotations__)


class DeeperGCN(GraphNetwork):
    """Any depth of :class:`GENConv` in pre-activation residual blocks, or in another of the paper's wirings.

        >>> model = DeeperGCN(128, 40, hidden_channels=64, num_layers=28, learn_beta=True)
        >>> out = model(x, edge_index)

    Args:
        node_encoder, head, hidden_channels, num_layers: see :class:`GraphNetwork`.
        options: ``block`` ("res+" without it), ``edge_encoder``, ``norm``, ``dropout``, ``level``, ``pooling``,
            ``virtual_node`` and ``checkpoint``, see :class:`GraphNetwork`; ``layer_edge_encoder``, the edge encoder
            that every layer has for itself, on top of the shared one if there is one: a width, the sizes of
            categories, or a function that makes one; and the options of :class:`GENConv`.
    """

    def __init__(
        self,
        node_encoder: NodeEncoderSpec,
        head: int | nn.Module | None,
        *,
        hidden_channels: int,
        num_layers: int,
        **options: Unpack[DeeperGCNOptions],
    ) -> None:
        block = options.pop("block", "res+")
        make_encoder = options.pop("layer_edge_encoder", None)
        if isinstance(make_encoder, nn.Module):
            raise InputError("layer_edge_encoder: expected a function that makes one encoder a layer, got a module")
        frame: FrameOptions = {k: v for k, v in options.items() if k in _FRAME}  # type: ignore[assignment]
        conv: GENConvOptions = {k: v for k, v in options.items() if k not in _FRAME}  # type: ignore[assignment]

        def make_conv(in_channels: int) -> GENConv:
            encoder = make_encoder() if callable(make_encoder) else make_encoder
            norm = frame.get("norm", "batch")
            return GENConv(in_channels, hidden_channels, edge_encoder=encoder, norm=norm, **conv)

        super().__init__(
            make_conv,
            node_encoder,
            head,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            block=block,
            **frame,
        )

    def structure(self, edge_index: Tensor | Adjacency, num_nodes: int) -> Adjacency:
        return cached_adjacency(edge_index, num_nodes, num_nodes)
