"""One layer's softmax aggregation on a partition of ogbn-proteins' size, forward and backward: 64 channels, 8 raw
features an edge, with and without the paper's second Linear layer on top.

    python -m benchmarks.aggregation_proteins
"""

import functools
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch_geometric.nn import GENConv

from benchmarks.graphs import features_and_gradient, proteins_partition
from benchmarks.measure import CPU, Comparison, Contestant, Step, compare
from deepergcn import ops
from deepergcn.nn import AffineEncoder

CHANNELS = 64


@functools.cache
def graph() -> tuple[Tensor, Tensor, int]:
    return proteins_partition()


def ours(stacked: bool, device: torch.device, dtype: torch.dtype) -> Step:
    edge_index, features, nodes = graph()
    raw = features.to(device, dtype)
    adjacency = ops.Adjacency.from_edge_index(edge_index, nodes).to(device)
    encoders = nn.ModuleList([AffineEncoder(8, CHANNELS)] + [AffineEncoder(CHANNELS, CHANNELS)] * stacked)
    encoders.to(device, dtype)
    x, g = features_and_gradient(nodes, CHANNELS, device, dtype)
    beta = torch.ones((), device=device, requires_grad=True)
    learned = [x, beta, *encoders.parameters()]

    def step() -> None:
        term = raw
        for encoder in encoders:
            term = encoder(term)
        torch.autograd.grad(ops.softmax(x, adjacency, term, beta=beta), learned, g)

    return step


def pyg(stacked: bool, compiled: bool, device: torch.device, dtype: torch.dtype) -> Step:
    edge_index, raw = graph()[0].to(device), graph()[1].to(device, dtype)
    encoders = nn.Sequential(nn.Linear(8, CHANNELS), *[nn.Linear(CHANNELS, CHANNELS)] * stacked).to(device, dtype)
    conv = GENConv(CHANNELS, CHANNELS, num_layers=1, aggr="softmax", learn_t=True).to(device, dtype)
    x, g = features_and_gradient(graph()[2], CHANNELS, device, dtype)
    learned = [x, *conv.aggr_module.parameters(), *encoders.parameters()]

    def aggregate(x: Tensor) -> Tensor:
        out: Tensor = conv.propagate(edge_index, x=(x, x), edge_attr=encoders(raw))
        return out

    function = torch.compile(aggregate) if compiled else aggregate

    def step() -> None:
        torch.autograd.grad(function(x), learned, g)

    return step


def contestants(stacked: bool, device: torch.device, dtype: torch.dtype) -> dict[str, Contestant]:
    return {
        "deepergcn": lambda: ours(stacked, device, dtype),
        "PyG": lambda: pyg(stacked, False, device, dtype),
        "PyG, torch.compile": lambda: pyg(stacked, True, device, dtype),
    }


def comparisons(device: torch.device = CPU, dtype: torch.dtype = torch.float32) -> Iterator[Comparison]:
    edge_index, _, nodes = graph()
    for kind, stacked in {"one Linear": False, "two Linears": True}.items():
        title = f"softmax, {nodes:,} nodes, {edge_index.shape[1]:,} edges, {CHANNELS} channels, 8 edge features, {kind}"
        yield Comparison(title, contestants(stacked, device, dtype), repeats=5)


if __name__ == "__main__":
    compare("aggregation_proteins", comparisons())
