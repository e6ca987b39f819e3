"""The paper's networks, and the four configurations whose results it reports."""

from typing import Unpack

from torch import nn

from deepergcn.categories import ATOM_SIZES, BOND_SIZES
from deepergcn.errors import InputError
from deepergcn.nn.encoders.nodes import SpeciesNodeEncoder
from deepergcn.nn.networks.deeper_gcn import DeeperGCN, DeeperGCNOptions, fix_block


class PlainGCN(DeeperGCN):
    """The paper's baseline: a basic aggregator (sum, mean or max) and no skip connections."""

    BLOCK = "plain"

    @classmethod
    def fix_options(cls, options: DeeperGCNOptions) -> None:
        options.setdefault("aggr", "max")
        options.setdefault("norm", "layer")
        if options["aggr"] not in ("sum", "mean", "max"):
            raise InputError(f"aggr: {cls.__name__} takes sum, mean or max, got {options['aggr']!r}")
        fix_block(cls, cls.BLOCK, options)


class ResGCN(PlainGCN):
    """PlainGCN with residual connections: GraphConv, Normalization, ReLU, Addition."""

    BLOCK = "res"


class ResGCNPlus(PlainGCN):
    """ResGCN+, with pre-activation residual connections: Normalization, ReLU, GraphConv, Addition."""

    BLOCK = "res+"


class ResGEN(DeeperGCN):
    """ResGCN+ with a generalized aggregator, softmax or power_mean, with fixed beta or p."""

    LEARNED = False

    @classmethod
    def fix_options(cls, options: DeeperGCNOptions) -> None:
        name = cls.__name__
        options.setdefault("norm", "layer")
        aggr = options.setdefault("aggr", "softmax")
        if aggr not in ("softmax", "power_mean"):
            raise InputError(f"aggr: {name} takes softmax or power_mean, got {aggr!r}")
        learn_beta = options.setdefault("learn_beta", cls.LEARNED and aggr == "softmax")
        learn_p = options.setdefault("learn_p", cls.LEARNED and aggr == "power_mean")
        if (learn_beta if aggr == "softmax" else learn_p) != cls.LEARNED:
            raise InputError(f"learn_beta, learn_p: {name} always {'learns it' if cls.LEARNED else 'keeps it fixed'}")
        fix_block(cls, "res+", options)


class DyResGEN(ResGEN):
    """ResGEN that learns beta or p in every layer."""

    LEARNED = True


def ogbn_proteins(**changes: Unpack[DeeperGCNOptions]) -> DeeperGCN:
    """The paper's network for ogbn-proteins: DyResGEN, 112 layers, 2,374,568 parameters.

    Node features are the sums of the incident edge features and the one-hot species, [nodes, 8 + 8].
    """
    options: DeeperGCNOptions = {"norm": "layer", "dropout": 0.1, "edge_encoder": 8, "layer_edge_encoder": 64}
    options.update(changes)
    return DyResGEN(SpeciesNodeEncoder(64), 112, hidden_channels=64, num_layers=112, **options)


def ogbn_arxiv(**changes: Unpack[DeeperGCNOptions]) -> DeeperGCN:
    """The paper's network for ogbn-arxiv: ResGEN, 28 layers, 491,176 parameters."""
    options: DeeperGCNOptions = {
        "norm": "batch",
        "dropout": 0.5,
        "beta": 0.1,
        "semi_gradient": True,
        "mlp_layers": 1,
    }
    options.update(changes)
    return ResGEN(128, 40, hidden_channels=128, num_layers=28, **options)


def ogbg_ppa(**changes: Unpack[DeeperGCNOptions]) -> DeeperGCN:
    """The paper's network for ogbg-ppa: ResGEN, 28 layers, 2,336,421 parameters.

    Node features are the sums of the incident edge features, [nodes, 7].
    """
    options: DeeperGCNOptions = {
        "norm": "layer",
        "dropout": 0.5,
        "beta": 0.01,
        "semi_gradient": True,
        "edge_encoder": 7,
        "layer_edge_encoder": 128,
        "level": "graph",
    }
    options.update(changes)
    return ResGEN(7, 37, hidden_channels=128, num_layers=28, **options)


def ogbg_molhiv(atom_sizes: tuple[int, ...] = ATOM_SIZES, **changes: Unpack[DeeperGCNOptions]) -> DeeperGCN:
    """The paper's network for ogbg-molhiv: DyResGEN, 7 layers.

    532,232 parameters with today's five values of chirality, 531,976 with the four of 2020.
    """
    options: DeeperGCNOptions = {
        "norm": "batch",
        "dropout": 0.5,
        "mlp_layers": 1,
        "layer_edge_encoder": BOND_SIZES,
        "level": "graph",
    }
    options.update(changes)
    return DyResGEN(atom_sizes, 1, hidden_channels=256, num_layers=7, **options)


def num_parameters(model: nn.Module) -> int:
    """The number of trainable parameters."""
    for name, parameter in model.named_parameters():
        if isinstance(parameter, nn.UninitializedParameter):
            raise InputError(f"{name}: its width is not known yet; call the network once first")
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
