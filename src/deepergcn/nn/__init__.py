"""Modules over ops: aggregators, GENConv, MsgNorm, encoders, blocks and networks."""

from deepergcn.nn.accelerate import Acceleration, accelerate
from deepergcn.nn.aggregators import (
    AGGREGATORS,
    Aggregation,
    MaxAggregation,
    MeanAggregation,
    MinAggregation,
    PowerMeanAggregation,
    SoftmaxAggregation,
    SumAggregation,
)
from deepergcn.nn.baselines import GCN, GIN, GaAN, GatedGCN, GraphSAGE
from deepergcn.nn.blocks import BLOCKS, Block, DenseBlock, PlainBlock, ResBlock, ResPlusBlock
from deepergcn.nn.deeper_gcn import DeeperGCN
from deepergcn.nn.encoders import AffineEncoder, CategoricalEncoder, EdgeEncoder
from deepergcn.nn.from_pyg import from_pyg
from deepergcn.nn.gen_conv import GENConv
from deepergcn.nn.graph_network import GraphNetwork
from deepergcn.nn.message_norm import MessageNorm
from deepergcn.nn.networks import DyResGEN, PlainGCN, ResGCN, ResGCNPlus, ResGEN, num_parameters
from deepergcn.nn.node_encoders import CategoricalNodeEncoder, LinearNodeEncoder, SpeciesNodeEncoder
from deepergcn.nn.registry import NETWORKS, network_class

__all__ = [
    "AGGREGATORS",
    "BLOCKS",
    "GCN",
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
    "LinearNodeEncoder",
    "MaxAggregation",
    "MeanAggregation",
    "MessageNorm",
    "MinAggregation",
    "PlainBlock",
    "PlainGCN",
    "PowerMeanAggregation",
    "ResBlock",
    "ResGCN",
    "ResGCNPlus",
    "ResGEN",
    "ResPlusBlock",
    "SoftmaxAggregation",
    "SpeciesNodeEncoder",
    "SumAggregation",
    "accelerate",
    "from_pyg",
    "network_class",
    "num_parameters",
]
