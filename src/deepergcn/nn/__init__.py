"""Modules over ops: aggregators, GENConv, MsgNorm, encoders, blocks and networks."""

from deepergcn.nn.blocks import BLOCKS, Block, DenseBlock, PlainBlock, ResBlock, ResPlusBlock
from deepergcn.nn.conv.aggregators import (
    AGGREGATORS,
    Aggregation,
    MaxAggregation,
    MeanAggregation,
    MinAggregation,
    MultiAggregation,
    PowerMeanAggregation,
    SoftmaxAggregation,
    SumAggregation,
)
from deepergcn.nn.conv.gen_conv import GENConv
from deepergcn.nn.conv.message_norm import MessageNorm
from deepergcn.nn.encoders.edges import AffineEncoder, CategoricalEncoder, EdgeEncoder
from deepergcn.nn.encoders.nodes import (
    CategoricalNodeEncoder,
    LinearNodeEncoder,
    MixedNodeEncoder,
    SpeciesNodeEncoder,
)
from deepergcn.nn.links import LinkPredictor
from deepergcn.nn.networks.baselines import GCN, GIN, GaAN, GatedGCN, GraphSAGE
from deepergcn.nn.networks.deeper_gcn import DeeperGCN
from deepergcn.nn.networks.graph_network import GraphNetwork
from deepergcn.nn.networks.hetero import HeteroDeeperGCN
from deepergcn.nn.networks.paper import DyResGEN, PlainGCN, ResGCN, ResGCNPlus, ResGEN, num_parameters
from deepergcn.nn.networks.registry import NETWORKS, network_class
from deepergcn.nn.networks.related import APPNP, GAT, GCNII, JKNet
from deepergcn.nn.networks.rev_gen import RevGEN
from deepergcn.nn.pyg.accelerate import Acceleration, accelerate, accelerated, deaccelerate
from deepergcn.nn.pyg.from_pyg import from_pyg
from deepergcn.nn.pyg.to_pyg import to_pyg
from deepergcn.nn.reversible.function import reversible
from deepergcn.nn.reversible.layers import RevBlock

__all__ = [
    "AGGREGATORS",
    "APPNP",
    "BLOCKS",
    "GAT",
    "GCN",
    "GCNII",
    "GIN",
    "NETWORKS",
    "Acceleration",
    "AffineEncoder",
    "Aggregation",
    "Block",
    "CategoricalEncoder",
    "CategoricalNodeEncoder",
    "DeeperGCN",
    "DenseBlock",
    "DyResGEN",
    "EdgeEncoder",
    "GENConv",
    "GaAN",
    "GatedGCN",
    "GraphNetwork",
    "GraphSAGE",
    "HeteroDeeperGCN",
    "JKNet",
    "LinearNodeEncoder",
    "LinkPredictor",
    "MaxAggregation",
    "MeanAggregation",
    "MessageNorm",
    "MinAggregation",
    "MixedNodeEncoder",
    "MultiAggregation",
    "PlainBlock",
    "PlainGCN",
    "PowerMeanAggregation",
    "ResBlock",
    "ResGCN",
    "ResGCNPlus",
    "ResGEN",
    "ResPlusBlock",
    "RevBlock",
    "RevGEN",
    "SoftmaxAggregation",
    "SpeciesNodeEncoder",
    "SumAggregation",
    "accelerate",
    "accelerated",
    "deaccelerate",
    "from_pyg",
    "network_class",
    "num_parameters",
    "reversible",
    "to_pyg",
]
