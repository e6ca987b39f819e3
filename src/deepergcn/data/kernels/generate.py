"""The loops over edges that make generated graphs.

Every random number depends on a key and a counter alone, so that any number of threads gives the same graphs. The
nodes of a graph lie on rings (a species is a ring): each takes a stretch as long as its weight, which is what its
degree is proportional to, and edges are likely between places that are near each other.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from deepergcn.data.kernels.jit import compiled

Array = npt.NDArray[Any]

DRAWS = 32
"""So many random numbers are set aside for each edge."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_U11, _U27, _U30, _U31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


@compiled
def mix(z: Any) -> Any:
    """SplitMix64's bijection of the 64-bit integers."""
    z = (z ^ (z >> _U30)) * _MIX_1
    z = (z ^ (z >> _U27)) * _MIX_2
    return z ^ (z >> _U31)


@compiled
def draw(key: Any, counter: int) -> Any:
    """The number in [0, 1) with this key and counter."""
    return float(mix(key + np.uint64(counter) * _GOLDEN) >> _U11) * 2.0**-53


@compiled
def fill_uniform(key: Any, out: Array) -> None:
    """Numbers in [0, 1)."""
    for i in range(out.shape[0]):
        out[i] = draw(key, i)


@compiled
def mix_all(keys: Array, out: Array) -> None:
    """A different number without pattern for each different key."""
    for i in range(keys.shape[0]):
        out[i] = mix(np.uint64(keys[i]) + _GOLDEN)


@compiled
def _jump(r: float) -> Any:
    """A step from the Laplace distribution of scale 1, for ``r`` in [0, 1)."""
    step = 2.0 * r - 1.0
    size = -np.log(1.0 - abs(step))
    return size if step > 0 else -size


@compiled
def _find(x: float, ends: Array, guide: Array) -> Any:
    """The node whose stretch holds ``x``; the guide says for equal parts of the whole length where to begin."""
    count = ends.shape[0]
    u = guide[min(int(x / ends[count - 1] * count), count - 1)]
    while u < count - 1 and ends[u] <= x:
        u += 1
    return u


@compiled
def sample_pairs(
    key: Any,
    first: int,
    ends: Array,
    guide: Array,
    ring_of: Array,
    ring_start: Array,
    reach: Array,
    wide: Array,
    shares: Array,
    name: Array,
    out: Array,
) -> None:
    """Draw edges ``first``, ``first + 1``, ...: low * nodes + high of the names of their ends, or -1 for a loop.

    ``shares`` are the cumulative shares of edges in the core, whose scale is ``reach``, in the wide neighbourhood,
    whose scale is ``wide``, and to the same place on another ring; the rest goes anywhere on the ring.
    """
    count = ends.shape[0]
    total = ends[count - 1]
    for i in range(out.shape[0]):
        c = (first + i) * DRAWS
        x = draw(key, c) * total
        u = _find(x, ends, guide)
        ring = ring_of[u]
        low, width = ring_start[ring], ring_start[ring + 1] - ring_start[ring]
        kind, jump = draw(key, c + 1), _jump(draw(key, c + 2))
        if kind < shares[0]:
            y = low + (x - low + jump * reach[ring]) % width
        elif kind < shares[1]:
            y = low + (x - low + jump * wide[ring]) % width
        elif kind < shares[2]:
            other = ring_of[_find(draw(key, c + 3) * total, ends, guide)]
            other_low, other_width = ring_start[other], ring_start[other + 1] - ring_start[other]
            y = other_low + ((x - low) / width * other_width + jump * reach[other]) % other_width
        else:
            y = low + draw(key, c + 3) * width
        a, b = name[u], name[_find(y, ends, guide)]
        out[i] = -1 if a == b else min(a, b) * count + max(a, b)


@compiled
def evidence(key: Any, c: int, logits: Array, near: float, out: Array) -> None:
    """One edge's channels: each is there with the probability of its logit, and one at least; scores in thousandths.

    Channels that are there score from 0.15 to 1, the higher the nearer the ends.
    """
    best, found = 0, False
    for j in range(logits.shape[0]):
        if logits[j] > logits[best]:
            best = j
        out[j] = 0.0
        if draw(key, c + 2 * j) * (1.0 + np.exp(-logits[j])) < 1.0:
            found = True
            r = draw(key, c + 2 * j + 1)
            out[j] = np.rint(150.0 + 850.0 * (0.2 * r + 0.8 * near * np.sqrt(r))) / 1000.0
    if not found:
        out[best] = np.rint(150.0 + 250.0 * near * draw(key, c + 2 * best + 1)) / 1000.0


@compiled
def ring_edges(
    key: Any,
    first: int,
    pairs: Array,
    field: Array,
    place: Array,
    ring_of: Array,
    reach: Array,
    width: Array,
    bias: Array,
    edge_index: Array,
    edge_attr: Array,
) -> None:
    """The ends and the evidence of edges ``first``, ``first + 1``, ...; ``bias`` is within a ring and between two."""
    count, channels = field.shape
    logits = np.empty(channels)
    for i in range(pairs.shape[0]):
        u, v = pairs[i] // count, pairs[i] % count
        edge_index[0, i], edge_index[1, i] = u, v
        same = ring_of[u] == ring_of[v]
        near = 0.5
        if same:
            apart = abs(place[u] - place[v])
            apart = min(apart, width[ring_of[u]] - apart)
            near = np.exp(-apart / (2.0 * reach[ring_of[u]]))
        for j in range(channels):
            logits[j] = bias[0 if same else 1, j] + field[u, j] + field[v, j]
        evidence(key, (first + i) * DRAWS, logits, near, edge_attr[i])


@compiled
def propagate(edge_index: Array, weight: Array, h: Array, out: Array) -> None:
    """Add to every node the values of its neighbours times the weights of the edges."""
    for i in range(edge_index.shape[1]):
        u, v, w = edge_index[0, i], edge_index[1, i], weight[i]
        for j in range(h.shape[1]):
            out[u, j] += w * h[v, j]
            out[v, j] += w * h[u, j]


@compiled
def weigh(edge_attr: Array, out: Array) -> None:
    """The sum of the cubed scores of every edge: strong evidence counts far more than weak."""
    for i in range(edge_attr.shape[0]):
        total = 0.0
        for j in range(edge_attr.shape[1]):
            total += edge_attr[i, j] ** 3
        out[i] = total


@compiled
def neighbourhood(
    key: Any,
    nodes: int,
    types: Array,
    stray: float,
    shares: Array,
    bias: Array,
    gain: float,
    edge_index: Array,
    edge_attr: Array,
) -> None:
    """One graph of at least three nodes: a ring of modules, of which ``types`` gives the types, and its edges in order.

    ``shares`` are the cumulative shares of edges to near and to farther places; the rest goes anywhere. A node is of
    its module's type, but with the probability ``stray`` of any. The type of either end adds ``gain`` to the logit of
    the channel of the same number.
    """
    edges, channels = edge_attr.shape
    ends, type_of, name = np.empty(nodes), np.empty(nodes, dtype=np.int64), np.arange(nodes)
    total, c = 0.0, 0
    for u in range(nodes):
        # Four uniform numbers make nearly a normal one, and its exponential a weight with a heavy tail.
        normal = (draw(key, c) + draw(key, c + 1) + draw(key, c + 2) + draw(key, c + 3) - 2.0) * np.sqrt(3.0)
        total += np.exp(0.8 * normal)
        ends[u] = total
        module = u * len(types) // nodes
        type_of[u] = int(draw(key, c + 4) * channels) if draw(key, c + 5) < stray else types[module]
        other = int(draw(key, c + 6) * (u + 1))
        name[u], name[other] = name[other], name[u]
        c += 7

    # From here on by name; the ring itself is closed by edges.
    linked = np.zeros((nodes, nodes), dtype=np.bool_)
    place, named_type = np.empty(nodes), np.empty(nodes, dtype=np.int64)
    for u in range(nodes):
        a, b = name[u], name[(u + 1) % nodes]
        linked[min(a, b), max(a, b)] = True
        place[a], named_type[a] = ends[u], type_of[u]
    count = nodes
    reach = total / len(types) / 2.0
    while count < edges:
        x = draw(key, c) * total
        kind, jump = draw(key, c + 1), _jump(draw(key, c + 2))
        if kind < shares[0]:
            y = (x + jump * reach) % total
        elif kind < shares[1]:
            y = (x + jump * reach * 3.0) % total
        else:
            y = draw(key, c + 3) * total
        c += 4
        u, v = np.searchsorted(ends, x, side="right"), np.searchsorted(ends, y, side="right")
        a, b = name[min(u, nodes - 1)], name[min(v, nodes - 1)]
        a, b = min(a, b), max(a, b)
        if a != b and not linked[a, b]:
            linked[a, b] = True
            count += 1

    logits = np.empty(channels)
    i = 0
    for a in range(nodes):
        for b in range(a + 1, nodes):
            if linked[a, b]:
                edge_index[0, i], edge_index[1, i] = a, b
                apart = abs(place[a] - place[b])
                near = np.exp(-min(apart, total - apart) / (2.0 * reach))
                for j in range(channels):
                    logits[j] = bias[j] + (gain if named_type[a] == j else 0.0) + (gain if named_type[b] == j else 0.0)
                evidence(key, c, logits, near, edge_attr[i])
                c += 2 * channels
                i += 1


@compiled
def neighbourhoods(
    keys: Array,
    node_ptr: Array,
    edge_ptr: Array,
    types: Array,
    stray: float,
    shares: Array,
    bias: Array,
    gain: float,
    edge_index: Array,
    edge_attr: Array,
) -> None:
    """Graphs one after another; the pointers are into the whole arrays."""
    for g in range(len(keys)):
        low, high = edge_ptr[g], edge_ptr[g + 1]
        neighbourhood(
            keys[g],
            node_ptr[g + 1] - node_ptr[g],
            types[g],
            stray,
            shares,
            bias[g],
            gain,
            edge_index[:, low:high],
            edge_attr[low:high],
        )
