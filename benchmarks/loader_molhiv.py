"""A hundred batches of 32 molecules, drawn at random from ogbg-molhiv: collation alone, no network.

python -m benchmarks.loader_molhiv
"""

import functools

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from benchmarks.graphs import molecules
from benchmarks.measure import Contestant, Step, minimum_times, report
from deepergcn.data import Dataset, GraphLoader
from deepergcn.ops import Adjacency

BATCHES, SIZE = 100, 32


@functools.cache
def dataset() -> Dataset:
    return molecules()


@functools.cache
def chosen() -> torch.Tensor:
    count = min(BATCHES * SIZE, len(dataset()))
    return torch.randperm(len(dataset()), generator=torch.Generator().manual_seed(0))[:count]


@functools.cache
def separate() -> list[Data]:
    """The graphs as PyG keeps them, made before anything is timed."""
    return [dataset().graph(i) for i in chosen().tolist()]


def ours() -> Step:
    loader = GraphLoader(dataset(), chosen(), batch_size=SIZE, shuffle=True)
    return lambda: list(loader.batches())


def pyg(adjacency: bool) -> Step:
    loader = DataLoader(separate(), batch_size=SIZE, shuffle=True)

    def step() -> None:
        for batch in loader:
            if adjacency:
                Adjacency.from_edge_index(batch.edge_index, batch.num_nodes)

    return step


def main() -> None:
    contestants: dict[str, Contestant] = {
        "deepergcn, with its Adjacency": ours,
        "PyG's DataLoader": lambda: pyg(adjacency=False),
        "PyG's DataLoader and an Adjacency": lambda: pyg(adjacency=True),
    }
    seconds = minimum_times(contestants, repeats=20, warm_up=2)
    title = f"{BATCHES} batches of {SIZE} molecules"
    report("loader_molhiv", title, seconds, {}, ours="deepergcn, with its Adjacency", dataset=dataset().name)


if __name__ == "__main__":
    main()
