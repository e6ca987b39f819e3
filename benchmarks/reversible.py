"""Training steps of reversible networks of growing depth, beside the same layers with recomputed activations.

    python -m benchmarks.reversible [--depths 112,448,1001] [--data FOLDER]

The graph is one partition of ogbn-proteins' size, or that of FOLDER, such as the yeast network. Each depth runs in a
fresh process. The extra memory of a step is that beyond the gradients of the weights, which grow with depth in any
network; weights and Adam's moments are there before the step.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.graphs import proteins_partition
from benchmarks.measure import extra_memory, report
from deepergcn import ops
from deepergcn.data import load_dataset
from deepergcn.nn import DeeperGCN, RevGEN, num_parameters

OPTIONS = {"hidden_channels": 80, "dropout": 0.1, "norm": "layer", "layer_edge_encoder": 80}


def measure(network: str, layers: int, data: str | None) -> tuple[float, int]:
    """The seconds of a step, and its extra memory beyond the gradients of the weights."""
    edge_index, features, nodes = proteins_partition() if data is None else whole(data)
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(nodes, 16, generator=generator)
    labels = torch.randint(2, (nodes, 112), generator=generator).float()
    adjacency = ops.Adjacency.from_edge_index(edge_index, nodes)
    options = {**OPTIONS, "edge_encoder": features.shape[1]}
    if network == "reversible":
        model: DeeperGCN = RevGEN(16, 112, num_layers=layers, aggr="max", **options)  # type: ignore[arg-type]
    else:
        model = DeeperGCN(16, 112, num_layers=layers, aggr="max", checkpoint=True, **options)  # type: ignore[arg-type]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, fused=True)
    spent: list[float] = []

    def step() -> None:
        start = time.perf_counter()
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(x, adjacency, features), labels).backward()
        optimizer.step()
        spent.append(time.perf_counter() - start)

    step()  # makes Adam's moments
    optimizer.zero_grad()
    memory = extra_memory(step, warm_up=False)
    return min(spent), memory - 4 * num_parameters(model)


def whole(data: str) -> tuple[Tensor, Tensor, int]:
    """The edges of a dataset of one graph, their features, and the number of nodes."""
    graph = load_dataset(data).graph(0)
    return graph.edge_index, graph.edge_attr, graph.num_nodes


def in_fresh_process(network: str, layers: int, data: str | None) -> tuple[float, int]:
    command = [sys.executable, "-m", "benchmarks.reversible", "--only", network, "--depths", str(layers)]
    command += [] if data is None else ["--data", data]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, memory = answer.stdout.split()[-2:]
    return float(seconds), int(memory)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", default="112,448,1001")
    parser.add_argument("--data", help="the folder of a dataset of one graph with edge features")
    parser.add_argument("--only", choices=["reversible", "recomputed"], help="measure one depth in this process")
    asked = parser.parse_args()
    depths = [int(depth) for depth in asked.depths.split(",")]
    if asked.only:
        print(*measure(asked.only, depths[0], asked.data))
        return
    found = {("reversible", depth): in_fresh_process("reversible", depth, asked.data) for depth in depths}
    found["recomputed", depths[0]] = in_fresh_process("recomputed", depths[0], asked.data)
    names = {key: f"{key[0]}, {key[1]} layers" for key in found}
    graph = "one ogbn-proteins partition" if asked.data is None else Path(asked.data).name
    report(
        "reversible",
        f"training step on {graph}, 80 channels",
        {names[key]: seconds for key, (seconds, _) in found.items()},
        {names[key]: memory for key, (_, memory) in found.items()},
        ours=names["reversible", depths[0]],
    )
    seconds = [found["reversible", depth][0] for depth in depths]
    if len(depths) > 1:
        print(f"time grows as depth^{np.polyfit(np.log(depths), np.log(seconds), 1)[0]:.2f}")


if __name__ == "__main__":
    main()
