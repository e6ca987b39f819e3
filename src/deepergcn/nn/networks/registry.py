"""Every network by the name that the paper gives it."""

from deepergcn.errors import InputError
from deepergcn.nn.networks.baselines import GCN, GIN, Baseline, GaAN, GatedGCN, GraphSAGE
from deepergcn.nn.networks.deeper_gcn import DeeperGCN
from deepergcn.nn.networks.paper import DyResGEN, PlainGCN, ResGCN, ResGCNPlus, ResGEN
from deepergcn.nn.networks.related import APPNP, GAT, GCNII, JKNet
from deepergcn.nn.networks.rev_gen import RevGEN

NETWORKS: dict[str, type[DeeperGCN] | type[Baseline]] = {
    "DeeperGCN": DeeperGCN,
    "PlainGCN": PlainGCN,
    "ResGCN": ResGCN,
    "ResGCN+": ResGCNPlus,
    "ResGEN": ResGEN,
    "DyResGEN": DyResGEN,
    "RevGEN": RevGEN,
    "GCN": GCN,
    "GraphSAGE": GraphSAGE,
    "GIN": GIN,
    "GatedGCN": GatedGCN,
    "GaAN": GaAN,
    "GAT": GAT,
    "JK-Net": JKNet,
    "APPNP": APPNP,
    "GCNII": GCNII,
}
"""Every network by its name; GIN* of the paper is GIN with ``virtual_node=True``."""


def network_class(name: str) -> type[DeeperGCN] | type[Baseline]:
    """The network called ``name``; all are made as ``cls(node_encoder, head, hidden_channels=, num_layers=, ...)``."""
    if name not in NETWORKS:
        raise InputError(f"network: expected one of {', '.join(NETWORKS)}, got {name!r}")
    return NETWORKS[name]
