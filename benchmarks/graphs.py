"""The graphs that are measured on: the real ones where they are at hand, generated ones of the same size otherwise."""

import os
from pathlib import Path

import torch
from torch import Tensor

from deepergcn.data import load_dataset
from deepergcn.data.dataset import Dataset


def data_folder(name: str) -> Path | None:
    """A folder of real data under DEEPERGCN_TEST_DATA, or beside the project in ``shared/data``."""
    given = os.environ.get("DEEPERGCN_TEST_DATA")
    root = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    return root / name if (root / name).is_dir() else None


def arxiv() -> tuple[Tensor, int, str]:
    """ogbn-arxiv made undirected with self-loops: (edge_index, nodes, where it is from)."""
    nodes = 169_343
    folder = data_folder("ogbn_arxiv_structure")
    if folder is not None:
        given = load_dataset(folder, symmetric=False).edge_index.long()
    else:
        generator = torch.Generator().manual_seed(0)
        heavy = torch.rand(1_166_243, generator=generator).pow(3) * nodes  # a few vertices are cited very often
        given = torch.stack([torch.randint(nodes, (1_166_243,), generator=generator), heavy.long()])
    both = torch.cat([given, given.flip(0)], dim=1)
    distinct = torch.unique(both[0] * nodes + both[1])
    loops = torch.arange(nodes)
    edges = torch.stack([torch.cat([distinct // nodes, loops]), torch.cat([distinct % nodes, loops])])
    return edges, nodes, "ogbn-arxiv's own edges" if folder else "generated"


def proteins_partition(edges: int = 790_000) -> tuple[Tensor, Tensor, int]:
    """One of ten random partitions of ogbn-proteins in size: (edge_index, 8 features an edge, nodes)."""
    nodes = 13_253
    generator = torch.Generator().manual_seed(0)
    one_way = (torch.rand(2, edges // 2, generator=generator).pow(1.5) * nodes).long()
    features = torch.rand(edges // 2, 8, generator=generator)
    return torch.cat([one_way, one_way.flip(0)], dim=1), features.repeat(2, 1), nodes


def features_and_gradient(
    nodes: int, channels: int, device: torch.device, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Features of every vertex, which are learned, and a gradient of the same shape."""
    generator = torch.Generator().manual_seed(0)
    x, g = (torch.randn(nodes, channels, generator=generator).to(device, dtype) for _ in range(2))
    return x.requires_grad_(), g


def molecules() -> Dataset:
    """ogbg-molhiv, or the solubility molecules that come with the package."""
    folder = data_folder("ogbg_molhiv")
    return load_dataset("solubility" if folder is None else folder)
