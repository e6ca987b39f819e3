"""A generated network of proteins like ogbn-proteins: species, evidence on the edges, functions many hops deep.

Every species is a ring of proteins. Proteins close to each other on a ring are connected by strong evidence, more
distant ones by weak evidence, and some by homology to the same position on another ring. A hidden field on the rings
decides which channels of evidence the edges carry; the individual part of each protein is large and hides what it
shares with its neighbours. With w the strength of an edge, the sum of its cubed scores, the features around a protein
are, hop by hop,

    h_0(v) = mean of the features of v's edges,    h_{k+1}(v) = sum_u w_uv h_k(u) / sum_u w_uv,

and every function depends on h_12 or h_24: on what many proteins share, so that more layers help.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.kernels import generate as kernels
from deepergcn.data.kernels.graphs import incident_features
from deepergcn.data.kernels.jit import in_pieces
from deepergcn.data.synthetic.functions import FUNCTIONS, functions
from deepergcn.data.synthetic.randomness import Floats, key, normals, uniforms
from deepergcn.data.task import Task

Ints = npt.NDArray[np.int64]
Number = TypeVar("Number", np.int64, np.float64)

NODES, EDGES = 132_534, 39_561_252
"""The size of ogbn-proteins."""

CHANNELS = 8
DISTANCES = (12, 24)
_SPECIES = {
    3702: 25_900,
    4932: 6_400,
    6239: 16_000,
    7227: 13_000,
    7955: 24_679,
    9606: 21_200,
    10090: 21_236,
    511145: 4_119,
}
"""The species and their numbers of proteins, which fit the split of ogbn-proteins."""

_VALID, _TEST = 10090, 7955
_MAX_WEIGHT = 13.0
# A node's edges: in the core around it this number, or this share of them; elsewhere in the wide neighbourhood most;
# a twentieth to other species and a tenth anywhere.
_CORE_LEAST, _CORE_SHARE = 3.0, 0.08
_WIDE_SHARE, _ACROSS_SHARE = 0.85, 0.9
_ROUNDS = 12
_OWN = 2.0
_SHORTEST_WAVE = 8.0  # of the hidden field, in reaches of the core
# Within a species and between two; the fourth channel is homology.
_BIAS = np.array(
    [
        [-2.5, -3.5, -3.0, -2.5, 0.0, -1.0, -1.5, 0.5],
        [-3.0, -4.0, -2.0, 1.5, -1.0, -2.0, -2.0, 0.0],
    ]
)


@dataclass(frozen=True)
class Rings:
    """Positions on rings, in order: each has an interval that ends at ``ends``, and the name of its node."""

    ends: Floats
    ring_of: Ints
    first: Ints
    start: Floats
    reach: Floats
    wide: Floats
    shares: Floats
    name: Ints

    @property
    def width(self) -> Floats:
        return np.diff(self.start)

    @property
    def place(self) -> Floats:
        """The middle of each interval."""
        return self.ends - np.diff(self.ends, prepend=0.0) / 2


def default_edges(nodes: int) -> int:
    """The number of edges at the density of ogbn-proteins, but at least four per node if possible."""
    return min(max(4 * nodes, round(EDGES * (nodes / NODES) ** 2)), nodes * (nodes - 1) // 4)


def synthetic_proteins(nodes: int, edges: int, seed: int, digest: str) -> Dataset:
    """Generate a network with this number of nodes and undirected edges."""
    rings = _rings(nodes, edges, seed)
    edge_index, edge_attr = _edges(_pairs(rings, edges, seed), rings, seed)
    ring_of = _by_name(rings, rings.ring_of)
    species = np.array(sorted(_SPECIES))[ring_of]
    parts = {"train": ~np.isin(species, (_VALID, _TEST)), "valid": species == _VALID, "test": species == _TEST}
    return Dataset(
        name="synthetic-proteins",
        task=Task("node", "multi-label", FUNCTIONS, "rocauc"),
        node_ptr=torch.tensor([0, nodes]),
        edge_ptr=torch.tensor([0, edges]),
        edge_index=torch.from_numpy(edge_index),
        symmetric=True,
        edge_attr=torch.from_numpy(edge_attr),
        y=torch.from_numpy(functions(_around(edge_index, edge_attr, nodes), ring_of, seed)),
        split={part: torch.from_numpy(np.flatnonzero(mask)) for part, mask in parts.items()},
        node_extra={"species": torch.from_numpy(species)},
        digest=digest,
    )


def _rings(nodes: int, edges: int, seed: int) -> Rings:
    sizes = species_sizes(nodes)
    ring_of = np.repeat(np.arange(len(sizes)), sizes)
    first = np.concatenate(([0], np.cumsum(sizes)))
    weight = np.minimum(np.exp(normals(key(seed, "weight"), nodes) - 0.5), _MAX_WEIGHT)
    ends = np.cumsum(weight)
    start = np.concatenate(([0.0], ends[first[1:] - 1]))
    degree = 2 * edges / nodes
    core = max(_CORE_LEAST, _CORE_SHARE * degree)
    unit = np.diff(start) / sizes
    reach, wide = np.minimum(core, sizes / 8) * unit, np.minimum(2 * degree, sizes / 2) * unit
    shares = np.array([min(core / degree, _WIDE_SHARE), _WIDE_SHARE, _ACROSS_SHARE])
    name = np.lexsort((uniforms(key(seed, "name"), nodes), ring_of))
    return Rings(ends, ring_of, first, start, reach, wide, shares, name)


def species_sizes(nodes: int) -> Ints:
    """The number of nodes of every species: in proportion, at least two."""
    shares = np.array([_SPECIES[species] for species in sorted(_SPECIES)])
    bounds = np.rint(np.cumsum(shares) * nodes / shares.sum()).astype(np.int64)
    sizes: Ints = np.maximum(np.diff(bounds, prepend=0), 2)
    while sizes.sum() > nodes:
        sizes[sizes.argmax()] -= 1
    return sizes


def _pairs(rings: Rings, edges: int, seed: int) -> Ints:
    """``edges`` distinct pairs of nodes as low * nodes + high, sorted; they connect all nodes."""
    nodes = len(rings.ends)
    kept = _closed(rings)
    pairs, drawn = kept, 0
    guide = np.searchsorted(rings.ends, np.arange(nodes) / nodes * rings.ends[-1], side="right")
    turn = 0
    while (missing := edges - len(pairs)) > 0:
        more = np.empty((missing + missing // 4 if turn == 0 else 2 * missing) + 64, dtype=np.int64)
        if turn < _ROUNDS:
            _sample(key(seed, "edges"), drawn, rings, guide, more)
        else:
            # So dense that the neighbourhoods are full: the rest goes anywhere.
            ends = (uniforms(key(seed, "anywhere", turn), 2, len(more)) * nodes).astype(np.int64)
            more = np.where(ends[0] == ends[1], -1, ends.min(0) * nodes + ends.max(0))
        turn, drawn = turn + 1, drawn + len(more)
        pairs = _distinct(np.concatenate((pairs, more[more >= 0])))
    order = np.empty(len(pairs), dtype=np.uint64)
    in_pieces(len(pairs), lambda i, j: kernels.mix_all(pairs[i:j], order[i:j]))
    order[np.searchsorted(pairs, kept)] = 0
    chosen: Ints = pairs[order <= np.partition(order, edges - 1)[edges - 1]]
    return chosen


def _sample(key: np.uint64, drawn: int, rings: Rings, guide: Ints, out: Ints) -> None:
    in_pieces(
        len(out),
        lambda i, j: kernels.sample_pairs(
            key,
            drawn + i,
            rings.ends,
            guide,
            rings.ring_of,
            rings.start,
            rings.reach,
            rings.wide,
            rings.shares,
            rings.name,
            out[i:j],
        ),
    )


def _closed(rings: Rings) -> Ints:
    """The pairs of neighbours on the rings, and one pair between consecutive rings."""
    nodes = len(rings.ends)
    next_on_ring = np.arange(1, nodes + 1)
    next_on_ring[rings.first[1:] - 1] = rings.first[:-1]
    a = np.concatenate((rings.name, rings.name[rings.first[:-2]]))
    b = np.concatenate((rings.name[next_on_ring], rings.name[rings.first[1:-1]]))
    return _distinct(np.minimum(a, b) * nodes + np.maximum(a, b))


def _distinct(values: Ints) -> Ints:
    """The sorted unique values; ten times faster than NumPy's function for this many values."""
    values.sort()
    first: Ints = values[np.concatenate(([True], values[1:] != values[:-1]))]
    return first


def _edges(pairs: Ints, rings: Rings, seed: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    edge_index = np.empty((2, len(pairs)), dtype=np.int32)
    edge_attr = np.empty((len(pairs), CHANNELS), dtype=np.float32)
    field = _by_name(rings, _field(rings, seed))
    place, ring_of = _by_name(rings, rings.place), _by_name(rings, rings.ring_of)
    evidence = key(seed, "evidence")
    in_pieces(
        len(pairs),
        lambda i, j: kernels.ring_edges(
            evidence,
            i,
            pairs[i:j],
            field,
            place,
            ring_of,
            rings.reach,
            rings.width,
            _BIAS,
            edge_index[:, i:j],
            edge_attr[i:j],
        ),
    )
    return edge_index, edge_attr


def _field(rings: Rings, seed: int) -> Floats:
    """For every position and channel a sum of waves around the ring, plus an individual part."""
    field = _OWN * normals(key(seed, "own"), len(rings.ends), CHANNELS)
    for ring, (low, high) in enumerate(zip(rings.first[:-1], rings.first[1:], strict=True)):
        turn = (rings.place[low:high] - rings.start[ring]) / rings.width[ring]
        count = max(2, int(rings.width[ring] / rings.reach[ring] / _SHORTEST_WAVE))
        waves = np.arange(1, count + 1)
        phase = uniforms(key(seed, "phase", ring), CHANNELS, count)
        height = 0.5 + uniforms(key(seed, "height", ring), CHANNELS, count)
        height *= np.sqrt(2.0 / (height**2).sum(1, keepdims=True))
        for channel in range(CHANNELS):
            angles = 2.0 * np.pi * (turn[:, None] * waves + phase[channel])
            field[low:high, channel] += (np.cos(angles) * height[channel]).sum(1)
    return field


def _around(edge_index: npt.NDArray[np.int32], edge_attr: npt.NDArray[np.float32], nodes: int) -> list[Floats]:
    """h_k [nodes, channels] for every distance k."""
    weight = np.empty(len(edge_attr))
    in_pieces(len(edge_attr), lambda i, j: kernels.weigh(edge_attr[i:j], weight[i:j]))
    h = np.zeros((nodes, CHANNELS))
    pointers = np.array([0, nodes]), np.array([0, len(edge_attr)])
    incident_features(*pointers, edge_index, edge_attr, True, False, h)
    h /= np.bincount(edge_index.ravel(), minlength=nodes)[:, None]
    total = np.zeros((nodes, 1))
    kernels.propagate(edge_index, weight, np.ones_like(total), total)
    found = []
    for hop in range(1, max(DISTANCES) + 1):
        h = _propagate(edge_index, weight, h) / total
        if hop in DISTANCES:
            found.append(h)
    return found


def _propagate(edge_index: npt.NDArray[np.int32], weight: Floats, h: Floats) -> Floats:
    """sum_u w_uv h(u) for every v; each thread takes some channels, in its own arrays, which share no cache line."""
    out = np.empty_like(h)

    def some(i: int, j: int) -> None:
        part = np.zeros((len(h), j - i))
        kernels.propagate(edge_index, weight, np.ascontiguousarray(h[:, i:j]), part)
        out[:, i:j] = part

    in_pieces(CHANNELS, some, CHANNELS // 2)
    return out


def _by_name(rings: Rings, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Reorder values of positions as values of nodes."""
    out = np.empty_like(values)
    out[rings.name] = values
    return out
