"""One layer's softmax aggregation on a partition of ogbn-proteins' size, forward and backward: 64 channels, 8 raw
features an edge, with and without the paper's second Linear layer on top.

    python -m benchmarks.aggregation_proteins
"""

import functools

import torch
from torch import Tensor, nn
from torch_geometric.nn import GENConv

from benchmarks.graphs import features_and_gradient, proteins_partition
from benchmarks.measure import Contestant, Step, memories, memory_asked, minimum_times, report
from deepergcn import ops
from deepergcn.nn import AffineEncoder

CHANNELS = 64


@functools.cache
def graph() -> tuple[Tensor, Tensor, int]:
    return proteins_partition()


def ours(stacked: bool) -> Step:
    edge_index, raw, nodes = graph()
    adjacency = ops.Adjacency.from_edge_index(edge_index, nodes)
    encoders = nn.ModuleList([AffineEncoder(8, CHANNELS)] + [AffineEncoder(CHANNELS, CHANNELS)] * stacked)
    x, g = features_and_gradient(graph()[2], CHANNELS)
    beta = torch.ones((), requires_grad=True)
    learned = [x, beta, *encoders.parameters()]

    def step() -> None:
        term = raw
        for encoder in encoders:
            term = encoder(term)
        torch.autograd.grad(ops.softmax(x, adjacency, term, beta=beta), learned, g)

    return step


def pyg(stacked: bool, compiled: bool) -> Step:
    edge_index, raw, _ = graph()
    encoders = nn.Sequential(nn.Linear(8, CHANNELS), *[nn.Linear(CHANNELS, CHANNELS)] * stacked)
    conv = GENConv(CHANNELS, CHANNELS, num_layers=1, aggr="softmax", learn_t=True)
    x, g = features_and_gradient(graph()[2], CHANNELS)
    learned = [x, *conv.aggr_module.parameters(), *encoders.parameters()]

    def aggregate(x: Tensor) -> Tensor:
        out: Tensor = conv.propagate(edge_index, x=(x, x), edge_attr=encoders(raw))
        return out

    function = torch.compile(aggregate) if compiled else aggregate

    def step() -> None:
        torch.autograd.grad(function(x), learned, g)

    return step


def contestants(stacked: bool) -> dict[str, Contestant]:
    return {
        "deepergcn": lambda: ours(stacked),
        "PyG": lambda: pyg(stacked, compiled=False),
        "PyG, torch.compile": lambda: pyg(stacked, compiled=True),
    }


def main() -> None:
    kinds = {"one Linear": False, "two Linears": True}
    every = {f"{name}/{kind}": make for kind, stacked in kinds.items() for name, make in contestants(stacked).items()}
    if memory_asked(every):
        return
    for kind, stacked in kinds.items():
        rivals = contestants(stacked)
        seconds = minimum_times(rivals, repeats=5)
        prefixed = memories("aggregation_proteins", {f"{name}/{kind}": make for name, make in rivals.items()})
        memory = {name.split("/")[0]: size for name, size in prefixed.items()}
        edge_index, _, nodes = graph()
        title = f"softmax, {nodes:,} nodes, {edge_index.shape[1]:,} edges, {CHANNELS} channels, 8 edge features, {kind}"
        report("aggregation_proteins", title, seconds, memory)


if __name__ == "__main__":
    main()
