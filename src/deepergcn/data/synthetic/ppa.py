"""Generated protein neighbourhoods of many species, like ogbg-ppa; the class is the order of modules in a graph.

Every graph is a ring of modules of seven types, each type with its own channel of evidence on the edges. All types are
equally common in all classes: the class is the cyclic order of the types around the ring, so a network has to see
a module's type, then its neighbours', and theirs. Some proteins and some modules have a wrong type, and every
species has its own distribution of evidence, which is independent of the class.
"""

import numpy as np
import numpy.typing as npt
import torch

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.kernels import generate as kernels
from deepergcn.data.kernels.jit import in_pieces
from deepergcn.data.synthetic.randomness import Floats, key, normals, uniforms
from deepergcn.data.task import Task

Ints = npt.NDArray[np.int64]

GRAPHS, NODES, EDGES = 158_100, 243.4, 2_266.1
"""The size of ogbg-ppa: the number of graphs, and the mean numbers of nodes and undirected edges per graph."""

CLASSES = 37
CHANNELS = 7
_SPECIES_SHARE = (782 / 1581, 451 / 1581, 348 / 1581)
_GRAPHS_A_SPECIES, _SPECIES_A_CLASS = 100, 8
_TURNS = 2
_STRAY, _WRONG = 0.25, 0.1
_SHARES = np.array([0.5, 0.85])
_BIAS, _HABIT, _GAIN = -1.8, 0.3, 1.2
# The largest graph has 300 nodes where the mean is 243.4, and the smallest 50.
_LARGEST, _SMALLEST = 300 / 243.4, 50 / 243.4
_FEWEST_NODES = 3


def synthetic_ppa(graphs: int, nodes: float, edges: float, seed: int, digest: str) -> Dataset:
    """Generate graphs with these mean numbers of nodes and undirected edges."""
    species_of = _species(graphs)
    species = int(species_of[-1]) + 1
    class_of = np.arange(species) % CLASSES
    num_nodes = _num_nodes(graphs, nodes, seed)
    num_edges = _num_edges(num_nodes, edges / nodes, seed)
    node_ptr, edge_ptr = (np.concatenate(([0], np.cumsum(counts))) for counts in (num_nodes, num_edges))
    types = _types(class_of[species_of], seed)
    bias = _BIAS + _HABIT * normals(key(seed, "habit"), species, CHANNELS)[species_of]
    keys = np.empty(graphs, dtype=np.uint64)
    kernels.mix_all(np.arange(graphs) + (int(key(seed, "graph")) >> 1), keys)
    edge_index = np.empty((2, edge_ptr[-1]), dtype=np.int32)
    edge_attr = np.empty((edge_ptr[-1], CHANNELS), dtype=np.float32)
    in_pieces(
        graphs,
        lambda i, j: kernels.neighbourhoods(
            keys[i:j],
            node_ptr[i : j + 1],
            edge_ptr[i : j + 1],
            types[i:j],
            _STRAY,
            _SHARES,
            bias[i:j],
            _GAIN,
            edge_index,
            edge_attr,
        ),
        piece=64,
    )
    part = _parts(species, seed)[species_of]
    return Dataset(
        name="synthetic-ppa",
        task=Task("graph", "multi-class", CLASSES, "accuracy"),
        node_ptr=torch.from_numpy(node_ptr),
        edge_ptr=torch.from_numpy(edge_ptr),
        edge_index=torch.from_numpy(edge_index),
        symmetric=True,
        edge_attr=torch.from_numpy(edge_attr),
        y=torch.from_numpy(class_of[species_of]),
        split={name: torch.from_numpy(np.flatnonzero(part == number)) for number, name in enumerate(PARTS)},
        digest=digest,
    )


def _species(graphs: int) -> Ints:
    """The species of every graph: a hundred graphs per species, but at least eight species per class if possible."""
    count = min(graphs, max(_SPECIES_A_CLASS * CLASSES, graphs // _GRAPHS_A_SPECIES))
    return np.arange(graphs) * count // graphs


def _parts(species: int, seed: int) -> Ints:
    """The part of every species: one species of each class in each part, the rest in proportion."""
    part = np.arange(species) // CLASSES
    rest = np.flatnonzero(part >= len(PARTS))
    wanted = np.rint(np.cumsum(_SPECIES_SHARE) * species) - np.arange(1, len(PARTS) + 1) * CLASSES
    bounds = np.clip(wanted, 0, len(rest)).astype(np.int64)
    shuffled = rest[np.argsort(uniforms(key(seed, "split"), len(rest)), kind="stable")]
    part[shuffled] = np.searchsorted(bounds, np.arange(len(rest)), side="right")
    return part


def _num_nodes(graphs: int, mean: float, seed: int) -> Ints:
    """The number of nodes of every graph; most are nearly as large as the largest."""
    power = (_LARGEST - _SMALLEST) / (_LARGEST - 1.0) - 1.0
    small = uniforms(key(seed, "nodes"), graphs) ** power
    return np.maximum(np.rint(mean * (_LARGEST - (_LARGEST - _SMALLEST) * small)).astype(np.int64), _FEWEST_NODES)


def _num_edges(num_nodes: Ints, a_node: float, seed: int) -> Ints:
    """The number of edges of every graph: at least a ring, at most a third of all pairs."""
    factor = np.exp(0.35 * normals(key(seed, "number of edges"), len(num_nodes)) - 0.35**2 / 2)
    most = np.maximum(num_nodes, num_nodes * (num_nodes - 1) // 6)
    wanted = np.rint(num_nodes * a_node * factor).astype(np.int64)
    counts: Ints = np.minimum(np.maximum(wanted, num_nodes), most)
    return counts


def _types(class_of: Ints, seed: int) -> Ints:
    """The types of the modules of every graph [graphs, modules]: the order of its class from a random start."""
    orders: Floats = uniforms(key(seed, "order"), CLASSES, CHANNELS)
    order = np.argsort(orders, axis=1, kind="stable")
    graphs, modules = len(class_of), _TURNS * CHANNELS
    types = order[class_of[:, None], np.arange(modules) % CHANNELS]
    other = (uniforms(key(seed, "other"), graphs, modules) * CHANNELS).astype(np.int64)
    return np.where(uniforms(key(seed, "wrong"), graphs, modules) < _WRONG, other, types)
