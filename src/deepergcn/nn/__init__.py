"""Modules over ops: aggregators, GENConv, MsgNorm, encoders, blocks and networks."""

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
from deepergcn.nn.blocks import BLOCKS, Block, DenseBlock, PlainBlock, ResBlock, ResPlusBlock
from deepergcn.nn.deeper_gcn import DeeperGCN
from deepergcn.nn.encoders import AffineEncoder, CategoricalEncoder, EdgeEncoder
from deepergcn.nn.gen_conv import GENConv
from deepergcn.nn.message_norm import MessageNorm
from deepergcn.nn.networks import DyResGEN, PlainGCN, ResGCN, ResGCNPlus, ResGEN, num_parameters
from deepergcn.nn.node_encoders import CategoricalNodeEncoder, LinearNodeEncoder, SpeciesNodeEncoder

__all__ = [
    "AGGREGATORS",
    "BLOCKS",
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
    "num_parameters",
]
