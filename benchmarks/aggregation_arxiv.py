"""One layer's aggregation at ogbn-arxiv's size, forward and backward: 128 channels, no edge features.

python -m benchmarks.aggregation_arxiv
"""

import functools
import warnings

import torch
from torch import Tensor
from torch_geometric.nn import GENConv

from benchmarks.graphs import arxiv, features_and_gradient
from benchmarks.measure import Contestant, Step, memories, memory_asked, minimum_times, report
from deepergcn import ops

CHANNELS = 128
AGGREGATORS = {"softmax": {"aggr": "softmax", "learn_t": True}, "power mean": {"aggr": "powermean", "learn_p": True}}


@functools.cache
def graph() -> tuple[Tensor, int, str]:
    return arxiv()


def ours(aggregator: str) -> Step:
    edge_index, nodes, _ = graph()
    adjacency = ops.Adjacency.from_edge_index(edge_index, nodes)
    x, g = features_and_gradient(graph()[1], CHANNELS)
    parameter = torch.ones((), requires_grad=True)

    def step() -> None:
        if aggregator == "softmax":
            out = ops.softmax(x, adjacency, beta=parameter)
        else:
            out = ops.power_mean(x, adjacency, p=parameter)
        torch.autograd.grad(out, (x, parameter), g)

    return step


def pyg(aggregator: str, compiled: bool) -> Step:
    edge_index, _, _ = graph()
    conv = GENConv(CHANNELS, CHANNELS, num_layers=1, **AGGREGATORS[aggregator])
    x, g = features_and_gradient(graph()[1], CHANNELS)
    parameter = next(conv.aggr_module.parameters())

    def aggregate(x: Tensor) -> Tensor:
        out: Tensor = conv.propagate(edge_index, x=(x, x), edge_attr=None)
        return out

    function = torch.compile(aggregate) if compiled else aggregate

    def step() -> None:
        torch.autograd.grad(function(x), (x, parameter), g)

    return step


def floor() -> Step:
    """Four sparse products of width D: two for S and A, two with the transpose for G and H."""
    edge_index, nodes, _ = graph()
    ones = torch.ones(edge_index.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = torch.sparse_coo_tensor(edge_index.flip(0), ones, (nodes, nodes)).to_sparse_csr()
        transpose = torch.sparse_coo_tensor(edge_index, ones, (nodes, nodes)).to_sparse_csr()
    x = features_and_gradient(graph()[1], CHANNELS)[0].detach()

    def step() -> None:
        for factor in (matrix, matrix, transpose, transpose):
            torch.sparse.mm(factor, x)

    return step


def contestants(aggregator: str) -> dict[str, Contestant]:
    return {
        "deepergcn": lambda: ours(aggregator),
        "PyG": lambda: pyg(aggregator, compiled=False),
        "PyG, torch.compile": lambda: pyg(aggregator, compiled=True),
        "floor: 4 sparse products": floor,
    }


def main() -> None:
    every = {
        f"{name}/{aggregator}": make for aggregator in AGGREGATORS for name, make in contestants(aggregator).items()
    }
    if memory_asked(every):
        return
    for aggregator in AGGREGATORS:
        rivals = contestants(aggregator)
        seconds = minimum_times(rivals, repeats=4)
        prefixed = memories("aggregation_arxiv", {f"{name}/{aggregator}": make for name, make in rivals.items()})
        memory = {name.split("/")[0]: size for name, size in prefixed.items()}
        edge_index, nodes, origin = graph()
        title = f"{aggregator}, {nodes:,} nodes, {edge_index.shape[1]:,} edges ({origin}), {CHANNELS} channels"
        report("aggregation_arxiv", title, seconds, memory)


if __name__ == "__main__":
    main()
