"""A whole training step of the paper's ogbg-molhiv network: forward, loss, backward and Adam, on real molecules.

python -m benchmarks.step_molhiv
"""

import functools
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import deepergcn
from benchmarks.graphs import molecules
from benchmarks.measure import Contestant, Step, memory_asked, minimum_times, report
from benchmarks.peers import pyg_molhiv
from deepergcn.categories import ATOM_SIZES, BOND_SIZES
from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.loader import GraphLoader
from deepergcn.nn.networks.paper import ogbg_molhiv


@functools.cache
def batch(size: int) -> GraphBatch:
    dataset = molecules()
    return next(iter(GraphLoader(dataset, dataset.split["train"], batch_size=size, shuffle=True).batches(0)))


def training_step(model: nn.Module, forward: Callable[[], Tensor], targets: Tensor, fused: bool) -> Step:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=fused)

    def step() -> None:
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(forward(), targets).backward()
        optimizer.step()

    return step


def targets_of(size: int) -> Tensor:
    return torch.randint(2, (size, 1), generator=torch.Generator().manual_seed(0)).float()


def ours(size: int) -> Step:
    torch.manual_seed(0)
    model = ogbg_molhiv()
    graphs = batch(size)
    return training_step(model, lambda: model(graphs), targets_of(size), fused=True)


def pyg(size: int, fused: bool = False, accelerated: bool = False) -> Step:
    torch.manual_seed(0)
    model = pyg_molhiv(ATOM_SIZES, BOND_SIZES)
    if accelerated:
        deepergcn.accelerate(model)
    graphs = batch(size)
    given = (graphs.x.long(), graphs.edge_index, graphs.edge_attr.long(), graphs.batch)
    return training_step(model, lambda: model(*given), targets_of(size), fused)


def contestants(size: int) -> dict[str, Contestant]:
    return {
        "deepergcn": lambda: ours(size),
        "PyG": lambda: pyg(size),
        "PyG, fused Adam": lambda: pyg(size, fused=True),
        "PyG, deepergcn.accelerate": lambda: pyg(size, accelerated=True),
    }


def main() -> None:
    every = {f"{name}/{size}": make for size in (32, 256) for name, make in contestants(size).items()}
    if memory_asked(every):
        return
    for size in (32, 256):
        seconds = minimum_times(contestants(size), repeats=40 if size == 32 else 12, warm_up=3)
        report("step_molhiv", f"training step, ogbg-molhiv network, batch of {size}", seconds, {})


if __name__ == "__main__":
    main()
