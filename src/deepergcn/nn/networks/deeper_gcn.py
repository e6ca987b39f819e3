"""DeeperGCN: a deep network of GENConv layers."""

from collections.abc import Callable, Sequence
from typing import Unpack, cast

from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn.conv.gen_conv import GENConv, GENConvOptions
from deepergcn.nn.encoders.edges import EdgeEncoder
from deepergcn.nn.encoders.nodes import NodeEncoderSpec
from deepergcn.nn.networks.graph_network import FrameOptions, GraphNetwork
from deepergcn.nn.pyg.adjacency_cache import cached_adjacency
from deepergcn.nn.pyg.names import NETWORK, pyg_names
from deepergcn.ops import Adjacency

LayerEdgeEncoderSpec = int | Sequence[int] | Callable[[], EdgeEncoder] | None
"""A width, the sizes of categories, a function that makes an edge encoder, or None."""


_CONV = frozenset(GENConvOptions.__annotations__)


class DeeperGCNOptions(FrameOptions, GENConvOptions, total=False):
    """The options of :class:`DeeperGCN`."""

    block: str
    layer_edge_encoder: LayerEdgeEncoderSpec


class DeeperGCN(GraphNetwork):
    """A network of any number of :class:`GENConv` layers in pre-activation residual blocks, or in other blocks.

    Examples:
        28 layers on 10 nodes with 16 features, for 4 classes:

        >>> import torch
        >>> model = DeeperGCN(16, 4, hidden_channels=8, num_layers=28, learn_beta=True)
        >>> model(torch.randn(10, 16), torch.randint(10, (2, 30))).shape
        torch.Size([10, 4])

    PyG's argument names are accepted too: in_channels, out_channels, edge_dim, ckpt_grad, and those of GENConv.

    Args:
        layer_edge_encoder: a separate edge encoder for every layer, applied to the output of the shared one if there
            is one: a width, the sizes of categories, or a function that makes one.
        block: how layers are connected: plain, res, res+ (the default), dense or rev.
        options: the options of :class:`GraphNetwork` and of :class:`GENConv`.
    """

    @pyg_names(NETWORK)
    def __init__(
        self,
        node_encoder: NodeEncoderSpec,
        head: int | nn.Module | None,
        *,
        hidden_channels: int,
        num_layers: int,
        **options: Unpack[DeeperGCNOptions],
    ) -> None:
        self.fix_options(options)
        block, layer_edge_encoder = options.pop("block", "res+"), options.pop("layer_edge_encoder", None)
        norm = options.setdefault("norm", "batch")
        conv = cast(GENConvOptions, {name: value for name, value in options.items() if name in _CONV})
        frame = cast(FrameOptions, {name: value for name, value in options.items() if name not in _CONV})
        if isinstance(layer_edge_encoder, nn.Module):
            raise InputError("layer_edge_encoder: expected a function that makes one encoder a layer, got a module")

        def make_conv(in_channels: int, out_channels: int) -> GENConv:
            encoder = layer_edge_encoder() if callable(layer_edge_encoder) else layer_edge_encoder
            return GENConv(in_channels, out_channels, edge_encoder=encoder, norm=norm, **conv)

        super().__init__(
            make_conv,
            node_encoder,
            head,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            block=block,
            **frame,
        )

    @classmethod
    def fix_options(cls, options: DeeperGCNOptions) -> None:
        """Set the defaults of a subclass, and refuse options that it does not have."""

    def shared_graph(self, edge_index: Tensor | Adjacency, num_nodes: int) -> Adjacency:
        return cached_adjacency(edge_index, num_nodes, num_nodes)


def fix_block(network: type[DeeperGCN], block: str, options: DeeperGCNOptions) -> None:
    """Set the block of a network that has no other."""
    if options.setdefault("block", block) != block:
        raise InputError(f"block: {network.__name__} has {block} blocks, got {options['block']!r}; DeeperGCN takes any")
