"""Whole training steps of the paper's deepest networks, activations recomputed in backward.

    python -m benchmarks.whole_steps proteins [--layers 112]
    python -m benchmarks.whole_steps arxiv [--layers 28]

On a CPU each contestant runs in a fresh process, ours before and after the peer; a step of the peer takes many minutes,
so that it is measured once, without a warm-up, which it has no compilation to need. PyTorch asks for no large pages in
the peer's process, as where nobody imports this library; "large pages" is the peer with them.
"""

import argparse
import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.graphs import arxiv, proteins_partition
from benchmarks.measure import CPU, Comparison, Step, extra_memory, report
from benchmarks.peers import pyg_arxiv, pyg_proteins
from deepergcn import ops
from deepergcn.data.batching.vertex_order import vertex_order
from deepergcn.nn import DyResGEN, ResGEN, SpeciesNodeEncoder
from deepergcn.training.cost.budget import Kept, choose_segments, smallest_peak

ARXIV_KEPT = Kept(layer=5, input=1)  # in units of the features of the nodes, 87 MB: what training.memory measures
OURS = "deepergcn"
DEPTHS = {"proteins": 112, "arxiv": 28}
Loss = Callable[[Tensor, Tensor], Tensor]


def arxiv_step(contestant: str, layers: int, device: torch.device = CPU) -> Step:
    edge_index, nodes, _ = arxiv()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(nodes, 128, generator=generator)
    labels = torch.randint(40, (nodes,), generator=generator)
    if contestant == "PyG":
        return _step(device, pyg_arxiv(layers), (x, edge_index), labels, F.cross_entropy)
    model = ResGEN(
        128,
        40,
        hidden_channels=128,
        num_layers=layers,
        norm="batch",
        dropout=0.5,
        beta=0.1,
        mlp_layers=1,
    )
    model.recompute_segments(choose_segments(layers, ARXIV_KEPT, 1.001 * smallest_peak(layers, ARXIV_KEPT)) or ())
    node = vertex_order(ops.Adjacency.from_edge_index(edge_index, nodes))  # as a batch of the whole graph has it
    place = torch.empty_like(node)
    place[node] = torch.arange(nodes)
    adjacency = ops.Adjacency.from_edge_index(place[edge_index], nodes)
    return _step(device, model, (x[node], adjacency), labels[node], F.cross_entropy)


def proteins_step(contestant: str, layers: int, device: torch.device = CPU) -> Step:
    edge_index, features, nodes = proteins_partition()
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(nodes, 16, generator=generator)
    labels = torch.randint(2, (nodes, 112), generator=generator).float()
    loss = F.binary_cross_entropy_with_logits
    if contestant == "PyG":
        return _step(device, pyg_proteins(layers), (x, edge_index, features), labels, loss)
    model = DyResGEN(
        SpeciesNodeEncoder(64),
        112,
        hidden_channels=64,
        num_layers=layers,
        norm="layer",
        dropout=0.1,
        edge_encoder=8,
        layer_edge_encoder=64,
        checkpoint=True,
    )
    return _step(device, model, (x, ops.Adjacency.from_edge_index(edge_index, nodes), features), labels, loss)


def _step(
    device: torch.device, model: nn.Module, inputs: tuple[Tensor | ops.Adjacency, ...], labels: Tensor, loss: Loss
) -> Step:
    model.to(device)
    given, targets = [value.to(device) for value in inputs], labels.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        loss(model(*given), targets).backward()
        optimizer.step()

    return step


STEPS = {"proteins": proteins_step, "arxiv": arxiv_step}


def comparisons(device: torch.device) -> Iterator[Comparison]:
    """The same steps for a GPU, on which both may be repeated."""
    for subject, layers in DEPTHS.items():
        contestants = {name: functools.partial(STEPS[subject], name, layers, device) for name in ("deepergcn", "PyG")}
        yield Comparison(title_of(subject, layers), contestants, repeats=3)


def title_of(subject: str, layers: int) -> str:
    return f"{layers}-layer training step, {subject}, activations recomputed"


def measure(subject: str, contestant: str, layers: int) -> tuple[float, int]:
    """The seconds of a step and its extra memory, in this process."""
    step = STEPS[subject](contestant, layers)
    spent: list[float] = []

    def timed() -> None:
        start = time.perf_counter()
        step()
        spent.append(time.perf_counter() - start)

    memory = extra_memory(timed, warm_up=contestant != "PyG")
    return min(spent), memory


def in_fresh_process(subject: str, contestant: str, layers: int) -> tuple[float, int]:
    name, _, large_pages = contestant.partition(", ")
    command = [sys.executable, "-m", "benchmarks.whole_steps", subject, "--layers", str(layers), "--only", name]
    asked = {} if name == OURS else {"THP_MEM_ALLOC_ENABLE": "1" if large_pages else "0"}
    answer = subprocess.run(command, env={**os.environ, **asked}, stdout=subprocess.PIPE, text=True, check=True)
    seconds, memory = answer.stdout.split()[-2:]
    return float(seconds), int(memory)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", choices=DEPTHS)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--only", choices=["deepergcn", "PyG"], help="measure one in this process, and print it bare")
    parser.add_argument("--short", action="store_true", help="leave out the peer with large pages")
    asked = parser.parse_args()
    layers = asked.layers or DEPTHS[asked.subject]
    if asked.only:
        print(*measure(asked.subject, asked.only, layers))
        return
    names = (OURS, "PyG") if asked.short else (OURS, "PyG", "PyG, large pages")
    runs = [(name, in_fresh_process(asked.subject, name, layers)) for name in (*names, OURS)]
    seconds = {name: min(spent for other, (spent, _) in runs if other == name) for name in names}
    memory = {name: max(size for other, (_, size) in runs if other == name) for name in names}
    report(f"step_{asked.subject}", title_of(asked.subject, layers), seconds, memory)


if __name__ == "__main__":
    main()
