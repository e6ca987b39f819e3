"""Small generated graphs for property tests: hubs, isolated nodes, repeated edges, self-loops, bipartite shapes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from hypothesis import strategies as st
from torch import Tensor

from deepergcn.ops import Adjacency, Affine, Dense, EdgeTerm, Table

DTYPES = (torch.float32, torch.float64)
SHAPES = ("random", "hub", "path", "repeated", "self-loops", "edgeless")
EDGES = (None, "affine", "table", "dense")


@dataclass(frozen=True)
class Case:
    """What every aggregation takes: features of the sources, the structure, and an edge term or None."""

    x: Tensor
    edge_index: Tensor
    num_targets: int
    edge: EdgeTerm | None

    @property
    def adjacency(self) -> Adjacency:
        return Adjacency.from_edge_index(self.edge_index, (self.x.shape[0], self.num_targets))

    @property
    def channels(self) -> int:
        return self.x.shape[1]

    def map(self, change: Callable[[Tensor], Tensor]) -> "Case":
        """The same graph with ``change`` applied to every floating-point tensor."""
        return replace(self, x=change(self.x), edge=map_edge(self.edge, change))

    def to(self, dtype: torch.dtype) -> "Case":
        """The same numbers in another precision."""
        return self.map(lambda t: t.to(dtype))

    def leaves(self) -> "Case":
        """The same numbers as fresh leaves that collect gradients."""
        return self.map(leaf)

    def tensors(self) -> list[Tensor]:
        """Every floating-point tensor: x first, then the edge term's."""
        return [self.x, *(t for t in self.edge or () if t is not None and t.is_floating_point())]

    def permute_edges(self, order: Tensor) -> "Case":
        """The same graph with its edges given in another order."""
        edge = self.edge
        match edge:
            case Affine(features, weight, bias):
                edge = Affine(features[order], weight, bias)
            case Table(codes, table):
                edge = Table(codes[order], table)
            case Dense(features):
                edge = Dense(features[order])
        return replace(self, edge_index=self.edge_index[:, order], edge=edge)


def leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_()


def map_edge(edge: EdgeTerm | None, change: Callable[[Tensor], Tensor]) -> EdgeTerm | None:
    """The edge term with ``change`` applied to every floating-point tensor in it."""
    match edge:
        case Affine(features, weight, bias):
            return Affine(change(features), change(weight), None if bias is None else change(bias))
        case Table(codes, table):
            return Table(codes, change(table))
        case Dense(features):
            return Dense(change(features))
    return None


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    edges: tuple[str | None, ...] = EDGES,
    bipartite: bool | None = None,
    max_nodes: int = 12,
    max_edges: int = 40,
    max_channels: int = 5,
    scales: tuple[float, ...] = (1.0,),
) -> Case:
    """A graph in float64 with values of about ``scales``: a seed draws them, so that an example shrinks to its shape.

    Args:
        edges: the kinds of edge term to choose from.
        bipartite: sources and targets are different vertices; None for either.
        scales: the standard deviations of x to choose from; about half of all values are negative.
    """
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31 - 1)))
    num_sources = draw(st.integers(1, max_nodes))
    is_bipartite = draw(st.booleans()) if bipartite is None else bipartite
    num_targets = draw(st.integers(1, max_nodes)) if is_bipartite else num_sources
    shape = draw(st.sampled_from(SHAPES))
    edge_index = _structure(shape, num_sources, num_targets, draw(st.integers(1, max_edges)), generator)
    channels = draw(st.integers(1, max_channels))
    x = _normal(generator, num_sources, channels) * draw(st.sampled_from(scales))
    edge = _edge_term(draw(st.sampled_from(edges)), edge_index.shape[1], channels, generator)
    return Case(x, edge_index, num_targets, edge)


def _structure(shape: str, num_sources: int, num_targets: int, count: int, generator: torch.Generator) -> Tensor:
    source = torch.randint(num_sources, (count,), generator=generator)
    target = torch.randint(num_targets, (count,), generator=generator)
    match shape:
        case "hub":
            target[: count - count // 4] = 0
        case "path":
            source = torch.arange(min(num_sources, num_targets) - 1)
            target = source + 1
        case "repeated":
            source, target = source[: count // 3 + 1].repeat(3), target[: count // 3 + 1].repeat(3)
        case "self-loops":
            loops = torch.arange(min(num_sources, num_targets))
            source, target = torch.cat([source, loops]), torch.cat([target, loops])
        case "edgeless":
            source, target = source[:0], target[:0]
    return torch.stack([source, target])


def _edge_term(kind: str | None, num_edges: int, channels: int, generator: torch.Generator) -> EdgeTerm | None:
    match kind:
        case "affine":
            features = torch.rand(num_edges, 3, generator=generator, dtype=torch.float64)
            return Affine(features, _normal(generator, channels, 3), _normal(generator, channels))
        case "table":
            codes = torch.randint(4, (num_edges,), generator=generator)
            return Table(codes, _normal(generator, 4, channels))
        case "dense":
            return Dense(_normal(generator, num_edges, channels))
    return None


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)
