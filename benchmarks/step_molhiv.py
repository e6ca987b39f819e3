"""A whole training step of the paper's ogbg-molhiv network: forward, loss, backward and Adam, on real molecules.

python -m benchmarks.step_molhiv
"""

import functools
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import deepergcn
from benchmarks.graphs import molecules
from benchmarks.measure import CPU, Comparison, Contestant, Step, compare
from benchmarks.peers import pyg_molhiv
from deepergcn.categories import ATOM_SIZES, BOND_SIZES
from deepergcn.data import Dataset
from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.loader import GraphLoader
from deepergcn.nn.networks.paper import ogbg_molhiv


@functools.cache
def dataset() -> Dataset:
    return molecules()


def batch(size: int, device: torch.device) -> GraphBatch:
    loader = GraphLoader(dataset(), dataset().split["train"], batch_size=size, shuffle=True)
    drawn: GraphBatch = next(iter(loader.batches(0))).to(device)
    return drawn


def training_step(model: nn.Module, forward: Callable[[], Tensor], targets: Tensor, fused: bool) -> Step:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=fused)

    def step() -> None:
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(forward(), targets).backward()
        optimizer.step()

    return step


def targets_of(size: int, device: torch.device) -> Tensor:
    return torch.randint(2, (size, 1), generator=torch.Generator().manual_seed(0)).float().to(device)


def ours(size: int, device: torch.device) -> Step:
    torch.manual_seed(0)
    model = ogbg_molhiv().to(device)
    graphs = batch(size, device)
    return training_step(model, lambda: model(graphs), targets_of(size, device), fused=True)


def pyg(size: int, device: torch.device, fused: bool = False, accelerated: bool = False) -> Step:
    torch.manual_seed(0)
    model = pyg_molhiv(ATOM_SIZES, BOND_SIZES).to(device)
    if accelerated:
        deepergcn.accelerate(model)
    graphs = batch(size, device)
    given = (graphs.x.long(), graphs.edge_index, graphs.edge_attr.long(), graphs.batch)
    return training_step(model, lambda: model(*given), targets_of(size, device), fused)


def contestants(size: int, device: torch.device) -> dict[str, Contestant]:
    return {
        "deepergcn": lambda: ours(size, device),
        "PyG": lambda: pyg(size, device),
        "PyG, fused Adam": lambda: pyg(size, device, fused=True),
        "PyG, deepergcn.accelerate": lambda: pyg(size, device, accelerated=True),
    }


def comparisons(device: torch.device = CPU) -> Iterator[Comparison]:
    for size, repeats in ((32, 40), (256, 12)):
        title = f"training step, ogbg-molhiv network, batch of {size}"
        yield Comparison(title, contestants(size, device), repeats, warm_up=3, weighed=False)


if __name__ == "__main__":
    compare("step_molhiv", comparisons())
