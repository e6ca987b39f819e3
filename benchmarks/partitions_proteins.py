"""Ten random partitions of a network of ogbn-proteins' size, with edges in both directions and their 8 features.

python -m benchmarks.partitions_proteins
"""

import functools
import time

import torch
from torch_geometric.utils import subgraph

from benchmarks.measure import Contestant, Step, minimum_times, report
from deepergcn.data import Dataset, RandomPartitions, apply_transforms, load_dataset

PARTS = 10


@functools.cache
def dataset() -> Dataset:
    return load_dataset("synthetic-proteins")


@functools.cache
def partitions() -> RandomPartitions:
    return RandomPartitions(dataset(), PARTS)


def ours() -> Step:
    return lambda: sum(batch.adjacency.num_edges for batch in partitions().batches(0))


def pyg() -> Step:
    graph = dataset().graph(0)
    assignment = partitions().assignment(0)

    def step() -> None:
        for part in range(PARTS):
            subgraph(assignment == part, graph.edge_index, graph.edge_attr, relabel_nodes=True)

    return step


def transform() -> Step:
    return lambda: apply_transforms(dataset(), ["node-features-from-edges", "one-hot-species"])


def main() -> None:
    start = time.perf_counter()
    dataset()
    print(f"generated or opened in {time.perf_counter() - start:.1f} s")
    contestants: dict[str, Contestant] = {"deepergcn, with its Adjacency": ours, "PyG's subgraph": pyg}
    setting: dict[str, object] = {"nodes": dataset().num_nodes, "edges": dataset().num_edges}
    with torch.no_grad():
        seconds = minimum_times(contestants, repeats=3)
        report(
            "partitions_proteins",
            f"{PARTS} random partitions",
            seconds,
            {},
            ours="deepergcn, with its Adjacency",
            **setting,
        )
        seconds = minimum_times({"deepergcn": transform}, repeats=3)
        report(
            "partitions_proteins",
            "sums of the incident edge features, and species",
            seconds,
            {},
            ours="deepergcn",
            **setting,
        )


if __name__ == "__main__":
    main()
