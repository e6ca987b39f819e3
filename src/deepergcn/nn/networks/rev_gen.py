"""RevGEN: reversible GENConv layers; a network of any depth keeps the activations of one layer."""

from typing import Unpack

from deepergcn.nn.encoders.nodes import SpeciesNodeEncoder
from deepergcn.nn.networks.deeper_gcn import DeeperGCN, DeeperGCNOptions, fix_block


class RevGEN(DeeperGCN):
    """DeeperGCN with reversible layers (Li et al. 2021, *Training Graph Neural Networks with 1000 Layers*).

        >>> model = RevGEN(128, 40, hidden_channels=80, num_layers=1001, groups=2)

    Args:
        groups: the number of groups of channels; it must divide ``hidden_channels``.
        others: see :class:`DeeperGCN`; the default normalization is ``"layer"``.
    """

    @classmethod
    def fix_options(cls, options: DeeperGCNOptions) -> None:
        options.setdefault("norm", "layer")
        fix_block(cls, "rev", options)


def ogbn_proteins_rev(num_layers: int = 1001, **changes: Unpack[DeeperGCNOptions]) -> RevGEN:
    """The published network of 1001 layers for ogbn-proteins: 80 channels in 2 groups, 20,031,384 parameters."""
    options: DeeperGCNOptions = {"aggr": "max", "dropout": 0.1, "edge_encoder": 8, "layer_edge_encoder": 80}
    options.update(changes)
    return RevGEN(SpeciesNodeEncoder(80), 112, hidden_channels=80, num_layers=num_layers, **options)
