"""Load generated graphs of any size; they are generated once and cached."""

from pathlib import Path
from typing import Any

from deepergcn.data.dataset import Dataset
from deepergcn.data.storage.cache import cache_file, cached
from deepergcn.data.storage.digest import text_digest
from deepergcn.data.storage.folders import data_root
from deepergcn.data.storage.memory import check_memory
from deepergcn.data.synthetic import ppa, proteins
from deepergcn.errors import InputError, quote

_VERSION = 4
_LARGEST_GRAPH = 2_000
_BYTES = 36  # of an edge, with its features; nodes and graphs take no less


def load_synthetic_proteins(
    *, nodes: int = proteins.NODES, edges: int | None = None, seed: int = 0, root: str | Path | None = None
) -> Dataset:
    """A generated network with the schema of ogbn-proteins, by default of the same size.

    Args:
        nodes: the number of proteins, at least 16.
        edges: the number of undirected edges; by default as dense as ogbn-proteins.
        seed: the seed; the same seed gives the same bytes.
        root: the folder of the cache; see :func:`deepergcn.data.storage.folders.data_root`.
    """
    _check_integer("nodes", nodes, 16)
    _check_integer("seed", seed, 0)
    count = proteins.default_edges(nodes) if edges is None else edges
    _check_integer("edges", count, nodes + 8)
    if count > nodes * (nodes - 1) // 4:
        raise InputError(f"edges is {count}; expected at most half of all pairs of {nodes} nodes")
    check_memory(_BYTES * (nodes + count), f"synthetic-proteins: {nodes} nodes and {count} edges")
    options = {"nodes": nodes, "edges": count, "seed": seed}
    digest = text_digest("synthetic-proteins", _VERSION, options)
    place = cache_file(data_root(root), "synthetic-proteins", options)
    return cached(place, digest, lambda: proteins.synthetic_proteins(**options, digest=digest))


def load_synthetic_ppa(
    *,
    graphs: int = ppa.GRAPHS,
    nodes: float = ppa.NODES,
    edges: float | None = None,
    seed: int = 0,
    root: str | Path | None = None,
) -> Dataset:
    """Generated graphs with the schema of ogbg-ppa, by default of the same size, which takes 13 GB.

    Args:
        graphs: the number of graphs.
        nodes: the mean number of nodes per graph, from 8 to 2000.
        edges: the mean number of undirected edges per graph; by default the same number per node as in ogbg-ppa.
        seed: the seed; the same seed gives the same bytes.
        root: the folder of the cache; see :func:`deepergcn.data.storage.folders.data_root`.
    """
    _check_integer("graphs", graphs, 1)
    _check_integer("seed", seed, 0)
    mean_edges = nodes * ppa.EDGES / ppa.NODES if edges is None else edges
    if not 8 <= nodes <= _LARGEST_GRAPH:
        raise InputError(f"nodes is {nodes:g}; expected a mean number of nodes from 8 to {_LARGEST_GRAPH}")
    if not nodes <= mean_edges <= _LARGEST_GRAPH**2:
        raise InputError(
            f"edges is {mean_edges:g}; expected a mean number of edges of at least {nodes:g} (that of nodes) "
            f"and at most {_LARGEST_GRAPH**2}"
        )
    most = round(min(mean_edges, nodes**2 / 4))  # of all pairs of nodes at most a third become edges
    check_memory(_BYTES * graphs * (1 + most), f"synthetic-ppa: {graphs} graphs of {nodes:g} nodes")
    options: dict[str, Any] = {"graphs": graphs, "nodes": float(nodes), "edges": float(mean_edges), "seed": seed}
    digest = text_digest("synthetic-ppa", _VERSION, options)
    place = cache_file(data_root(root), "synthetic-ppa", options)
    return cached(place, digest, lambda: ppa.synthetic_ppa(**options, digest=digest))


def _check_integer(name: str, value: int, least: int) -> None:
    if type(value) is not int or value < least:
        raise InputError(f"{name} is {value!r}; expected an integer of at least {least}")
    if value >= 1 << 63:
        raise InputError(f"{name} is {quote(value)}; expected an integer of at most 64 bits")
