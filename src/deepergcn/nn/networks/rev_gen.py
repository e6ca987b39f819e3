"""RevGEN: reversible GENConv layers; a network of any depth keeps the activations of one layer."""

from typing import Unpack

from torch import nn

from deepergcn.errors import InputError
from deepergcn.nn.encoders.nodes import NodeEncoderSpec, SpeciesNodeEncoder
from deepergcn.nn.networks.deeper_gcn import DeeperGCN, DeeperGCNOptions
from deepergcn.nn.pyg.names import NETWORK, pyg_names


class RevGEN(DeeperGCN):
    """DeeperGCN with reversible layers (Li et al. 2021, *Training Graph Neural Networks with 1000 Layers*).

        >>> model = RevGEN(128, 40, hidden_channels=80, num_layers=1001, groups=2)

    Args:
        groups: the number of groups of channels; it must divide ``hidden_channels``.
        others: see :class:`DeeperGCN`; the default normalization is ``"layer"``.
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
        options.setdefault("norm", "layer")
        if options.setdefault("block", "rev") != "rev":
            raise InputError(f"block: RevGEN has rev blocks, got {options['block']!r}; DeeperGCN takes any")
        super().__init__(node_encoder, head, hidden_channels=hidden_channels, num_layers=num_layers, **options)


def ogbn_proteins_rev(**changes: Unpack[DeeperGCNOptions]) -> RevGEN:
    """The published network of 1001 layers for ogbn-proteins: 80 channels in 2 groups, 20,031,384 parameters."""
    options: DeeperGCNOptions = {"aggr": "max", "dropout": 0.1, "edge_encoder": 8, "layer_edge_encoder": 80}
    options.update(changes)
    return RevGEN(SpeciesNodeEncoder(80), 112, hidden_channels=80, num_layers=1001, **options)
