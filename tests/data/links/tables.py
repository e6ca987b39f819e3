"""Tables of links for tests."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows((header, *rows))
    return path


def random_links(nodes: int, count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Different pairs of different nodes, by name."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(np.stack(np.triu_indices(nodes, 1), axis=1))[:count]
    return [(f"n{a}", f"n{b}") for a, b in pairs.tolist()]


def links_file(folder: Path, nodes: int = 30, count: int = 120) -> Path:
    return write(folder / "links.csv", ("source", "target"), random_links(nodes, count))


def nodes_file(folder: Path, nodes: int = 30) -> Path:
    rng = np.random.default_rng(1)
    rows = [(f"n{i}", f"{rng.normal():.4f}", "ab"[i % 2]) for i in range(nodes)]
    return write(folder / "nodes.csv", ("id", "size", "kind"), rows)


def edges_file(folder: Path, nodes: int = 30, count: int = 60) -> Path:
    rows = [(*pair, f"{i / 10}") for i, pair in enumerate(random_links(nodes, count, seed=3))]
    return write(folder / "edges.csv", ("source", "target", "weight"), rows)
