"""One layer's aggregation at ogbn-arxiv's size, forward and backward: 128 channels, no edge features.

python -m benchmarks.aggregation_arxiv
"""

import functools
import warnings
from collections.abc import Iterator

import torch
from torch import Tensor
from torch_geometric.nn import GENConv

from benchmarks.graphs import arxiv, features_and_gradient
from benchmarks.measure import CPU, Comparison, Contestant, Step, compare
from deepergcn import ops

CHANNELS = 128
AGGREGATORS = {"softmax": {"aggr": "softmax", "learn_t": True}, "power mean": {"aggr": "powermean", "learn_p": True}}


@functools.cache
def graph() -> tuple[Tensor, int, str]:
    return arxiv()


def ours(aggregator: str, device: torch.device, dtype: torch.dtype) -> Step:
    edge_index, nodes, _ = graph()
    adjacency = ops.Adjacency.from_edge_index(edge_index, nodes).to(device)
    x, g = features_and_gradient(nodes, CHANNELS, device, dtype)
    parameter = torch.ones((), device=device, requires_grad=True)

    def step() -> None:
        if aggregator == "softmax":
            out = ops.softmax(x, adjacency, beta=parameter)
        else:
            out = ops.power_mean(x, adjacency, p=parameter)
        torch.autograd.grad(out, (x, parameter), g)

    return step


def pyg(aggregator: str, compiled: bool, device: torch.device, dtype: torch.dtype) -> Step:
    edge_index = graph()[0].to(device)
    conv = GENConv(CHANNELS, CHANNELS, num_layers=1, **AGGREGATORS[aggregator]).to(device, dtype)
    x, g = features_and_gradient(graph()[1], CHANNELS, device, dtype)
    parameter = next(conv.aggr_module.parameters())

    def aggregate(x: Tensor) -> Tensor:
        out: Tensor = conv.propagate(edge_index, x=(x, x), edge_attr=None)
        return out

    function = torch.compile(aggregate) if compiled else aggregate

    def step() -> None:
        torch.autograd.grad(function(x), (x, parameter), g)

    return step


def floor(device: torch.device, dtype: torch.dtype) -> Step:
    """Four sparse products of width D: two for S and A, two with the transpose for G and H."""
    edge_index, nodes, _ = graph()
    ones = torch.ones(edge_index.shape[1], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = torch.sparse_coo_tensor(edge_index.flip(0), ones, (nodes, nodes)).to_sparse_csr().to(device)
        transpose = torch.sparse_coo_tensor(edge_index, ones, (nodes, nodes)).to_sparse_csr().to(device)
    x = features_and_gradient(nodes, CHANNELS, device, dtype)[0].detach()

    def step() -> None:
        for factor in (matrix, matrix, transpose, transpose):
            torch.sparse.mm(factor, x)

    return step


def contestants(aggregator: str, device: torch.device, dtype: torch.dtype) -> dict[str, Contestant]:
    return {
        "deepergcn": lambda: ours(aggregator, device, dtype),
        "PyG": lambda: pyg(aggregator, False, device, dtype),
        "PyG, torch.compile": lambda: pyg(aggregator, True, device, dtype),
        "floor: 4 sparse products": lambda: floor(device, dtype),
    }


def comparisons(device: torch.device = CPU, dtype: torch.dtype = torch.float32) -> Iterator[Comparison]:
    edge_index, nodes, origin = graph()
    for aggregator in AGGREGATORS:
        title = f"{aggregator}, {nodes:,} nodes, {edge_index.shape[1]:,} edges ({origin}), {CHANNELS} channels"
        yield Comparison(title, contestants(aggregator, device, dtype), repeats=4)


if __name__ == "__main__":
    compare("aggregation_arxiv", comparisons())
