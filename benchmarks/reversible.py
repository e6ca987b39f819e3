"""Training steps of reversible networks of growing depth, beside the same layers with recomputed activations.

    python -m benchmarks.reversible [--depths 112,448,1001] [--data FOLDER] [--memory]

The graph is one partition of ogbn-proteins' size, or that of FOLDER, such as the yeast network. Each depth runs in a
fresh process, with the optimizer of training, which updates every reversible layer as soon as backward has its
gradients. The extra memory of a step is that above weights and Adam's moments; where activations are recomputed, it is
also without the gradients.

With ``--memory`` no time is measured, so that the machine may be busy: it is the peak of the whole process, from its
start to the end of two steps (or ``--steps``), beyond the weights and Adam's moments (12 bytes a parameter), and how
far the depths are apart.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.graphs import proteins_partition
from benchmarks.measure import extra_memory, peak_memory, report, write_csv
from deepergcn import ops
from deepergcn.data import load_dataset
from deepergcn.nn import DeeperGCN, RevGEN, num_parameters
from deepergcn.nn.reversible.function import after_each_layer
from deepergcn.training.adam import FlatAdam

OPTIONS = {"hidden_channels": 80, "dropout": 0.1, "norm": "layer", "layer_edge_encoder": 80}


def measure(network: str, layers: int, data: str | None, steps: int) -> tuple[float, int]:
    """The seconds of a step, and its extra memory; or the peak of the process beyond weights and moments."""
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
    optimizer = FlatAdam(model.parameters(), lr=0.001)
    spent: list[float] = []

    def update(weights: Sequence[nn.Parameter]) -> None:
        optimizer.step_on(weights)
        for weight in weights:
            weight.grad = None

    def layer_by_layer() -> AbstractContextManager[None]:
        return after_each_layer(update) if network == "reversible" else nullcontext()

    def step() -> None:
        start = time.perf_counter()
        optimizer.zero_grad()
        with layer_by_layer():
            F.binary_cross_entropy_with_logits(model(x, adjacency, features), labels).backward()
        optimizer.step()
        spent.append(time.perf_counter() - start)

    step()  # makes Adam's moments
    if steps:
        for _ in range(steps - 1):
            step()
        return min(spent), peak_memory() - 12 * num_parameters(model)
    optimizer.zero_grad()
    memory = extra_memory(step, warm_up=False)
    return min(spent), memory - (0 if network == "reversible" else 4 * num_parameters(model))


def whole(data: str) -> tuple[Tensor, Tensor, int]:
    """The edges of a dataset of one graph, their features, and the number of nodes."""
    graph = load_dataset(data).graph(0)
    return graph.edge_index, graph.edge_attr, graph.num_nodes


def in_fresh_process(network: str, layers: int, data: str | None, steps: int = 0) -> tuple[float, int]:
    command = [sys.executable, "-m", "benchmarks.reversible", "--only", network, "--depths", str(layers)]
    command += [] if data is None else ["--data", data]
    command += ["--memory", "--steps", str(steps)] if steps else []
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, memory = answer.stdout.split()[-2:]
    return float(seconds), int(memory)


def compare_peaks(depths: list[int], data: str | None, graph: str, steps: int) -> None:
    """The peaks of all depths, and the largest above the smallest."""
    peaks = {depth: in_fresh_process("reversible", depth, data, steps)[1] for depth in depths}
    least = min(peaks.values())
    rows: list[dict[str, object]] = [
        {"contestant": f"reversible, {depth} layers", "peak_bytes": peak, "above_smallest": f"{peak / least - 1:.4f}"}
        for depth, peak in peaks.items()
    ]
    for depth, peak in peaks.items():
        print(
            f"{depth} layers: {peak / 1e6:,.0f} MB beyond weights and moments, {peak / least - 1:.1%} above the least"
        )
    write_csv("reversible_memory", f"peak of a process that trains on {graph}, 80 channels", rows, {"steps": steps})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", default="112,448,1001")
    parser.add_argument("--data", help="the folder of a dataset of one graph with edge features")
    parser.add_argument("--memory", action="store_true", help="the peak of the process alone, no time")
    parser.add_argument("--steps", type=int, default=2, help="the steps in which the peak is looked for")
    parser.add_argument("--only", choices=["reversible", "recomputed"], help="measure one depth in this process")
    asked = parser.parse_args()
    depths = [int(depth) for depth in asked.depths.split(",")]
    if asked.only:
        print(*measure(asked.only, depths[0], asked.data, asked.steps if asked.memory else 0))
        return
    graph = "one ogbn-proteins partition" if asked.data is None else Path(asked.data).name
    if asked.memory:
        compare_peaks(depths, asked.data, graph, asked.steps)
        return
    found = {("reversible", depth): in_fresh_process("reversible", depth, asked.data) for depth in depths}
    found["recomputed", depths[0]] = in_fresh_process("recomputed", depths[0], asked.data)
    names = {key: f"{key[0]}, {key[1]} layers" for key in found}
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
