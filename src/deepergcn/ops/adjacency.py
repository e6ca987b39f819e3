"""The edges of one graph, ordered by target and by source, built once and shared by every layer."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from operator import index
from typing import Any, Self

import torch
from torch import Tensor

from deepergcn.errors import InputError
from deepergcn.ops.edge_order import build
from deepergcn.ops.path import on_plain_path


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The in-edges of every target (CSR) and the out-edges of every source (the transpose), with the edge order.

    An edge u -> v carries a message from its source u to its target v. Edge features keep the order in which
    the edges were given; ``edge`` and ``edge_t`` say where in that order each stored edge stands.

    Attributes:
        num_sources: number of vertices that send; the rows of ``x``.
        num_targets: number of vertices that receive; the rows of the aggregated message.
        rowptr: [num_targets + 1], where the in-edges of each target begin.
        source: [num_edges], the source of each edge, ordered by target.
        edge: [num_edges], the place of each of these edges in the given order.
        rowptr_t: [num_sources + 1], where the out-edges of each source begin.
        target: [num_edges], the target of each edge, ordered by source.
        edge_t: [num_edges], the place of each of these edges in the given order.
        given: ``edge_index`` itself on the plain path, where nothing else of the structure may then be needed.

    Examples:
        >>> adjacency = Adjacency.from_edge_index(torch.tensor([[0, 1, 2], [2, 2, 0]]))
        >>> adjacency.num_targets, adjacency.num_edges
        (3, 3)
        >>> adjacency.degree().tolist()
        [1.0, 0.0, 2.0]

    All index tensors are int32 where the graph fits, int64 beyond. Nothing is ever changed in place, so that one
    object can be shared between layers, threads and steps.
    """

    num_sources: int
    num_targets: int
    rowptr: Tensor
    source: Tensor
    edge: Tensor
    rowptr_t: Tensor
    target: Tensor
    edge_t: Tensor
    given: Tensor | None = None

    @classmethod
    def from_edge_index(cls, edge_index: Tensor, num_nodes: int | tuple[int, int] | None = None) -> Self:
        """Build from PyG's ``edge_index`` [2, num_edges]: row 0 the sources, row 1 the targets.

        Args:
            edge_index: an integer tensor, or PyG's ``EdgeIndex``.
            num_nodes: the number of vertices; a pair (sources, targets) for a bipartite graph. Without it, the
                size that an ``EdgeIndex`` knows, else the highest number in ``edge_index`` plus one.
        """
        if not isinstance(edge_index, Tensor):
            raise InputError(f"edge_index: expected a tensor [2, edges], got {type(edge_index).__name__}")
        size = _known_size(edge_index) if num_nodes is None else num_nodes
        edge_index = _plain(edge_index)
        if size is None and edge_index.device.type == "meta":
            raise InputError(
                "num_nodes: expected the number of vertices, as edge_index on meta has no numbers, got None"
            )
        if size is None:
            size = int(edge_index.max()) + 1 if edge_index.numel() else 0
        num_sources, num_targets = _counts(size)
        given = edge_index.long() if on_plain_path() else None
        return cls(num_sources, num_targets, *build(edge_index, num_sources, num_targets), given)

    @classmethod
    def from_sparse(cls, matrix: Tensor) -> Self:
        """Build from a torch sparse tensor (COO, CSR or CSC) in PyG's ``adj_t`` convention.

        Row v holds the in-neighbours of v: rows are targets, columns are sources. Only the structure is taken.
        """
        if not isinstance(matrix, Tensor):
            raise InputError(f"adjacency: expected a sparse tensor, got {type(matrix).__name__}")
        if matrix.layout not in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc) or matrix.dim() != 2:
            raise InputError(
                "adjacency: expected a two-dimensional sparse tensor (COO, CSR or CSC), "
                f"got {matrix.dim()} dimensions of layout {matrix.layout}"
            )
        _check_pointers(matrix)
        num_targets, num_sources = matrix.shape
        indices = matrix._indices() if matrix.layout == torch.sparse_coo else matrix.to_sparse()._indices()
        return cls.from_edge_index(indices.flip(0), (num_sources, num_targets))

    @property
    def num_edges(self) -> int:
        return self.source.shape[0]

    @property
    def device(self) -> torch.device:
        return self.source.device

    def degree(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """|N(v)|, the number of in-edges of every target, [num_targets]."""
        return (self.rowptr[1:] - self.rowptr[:-1]).to(dtype)

    def edge_index(self) -> Tensor:
        """PyG's ``edge_index`` again, int64 [2, num_edges], in the order in which the edges were given."""
        if self.given is not None:
            return self.given
        per_target = (self.rowptr[1:] - self.rowptr[:-1]).long()
        targets = torch.arange(self.num_targets, device=self.device).repeat_interleave(
            per_target, output_size=self.num_edges
        )
        given = torch.empty(2, self.num_edges, dtype=torch.int64, device=self.device)
        given[:, self.edge.long()] = torch.stack([self.source.long(), targets])
        return given

    def transpose(self) -> "Adjacency":
        """The graph with every edge reversed; nothing is copied."""
        return Adjacency(
            num_sources=self.num_targets,
            num_targets=self.num_sources,
            rowptr=self.rowptr_t,
            source=self.target,
            edge=self.edge_t,
            rowptr_t=self.rowptr,
            target=self.source,
            edge_t=self.edge,
            given=None if self.given is None else self.given.flip(0),
        )

    def to(self, device: torch.device | str) -> "Adjacency":
        """The same structure on another device."""
        return self.apply(lambda tensor: tensor.to(device))

    def apply(self, change: Callable[[Tensor], Tensor]) -> "Adjacency":
        """The same structure with ``change`` applied to each of its tensors."""
        names = [field.name for field in fields(self) if isinstance(getattr(self, field.name), Tensor)]
        changed: dict[str, Any] = {name: change(getattr(self, name)) for name in names}
        return replace(self, **changed)

    def __repr__(self) -> str:
        return f"Adjacency({self.num_sources} sources, {self.num_targets} targets, {self.num_edges} edges)"


def as_adjacency(graph: Tensor | Adjacency, num_sources: int, num_targets: int) -> Adjacency:
    """An ``Adjacency`` from any input of a layer, checked against the number of vertices it is used with."""
    if isinstance(graph, Tensor):
        if graph.layout == torch.strided:
            return Adjacency.from_edge_index(graph, (num_sources, num_targets))
        graph = Adjacency.from_sparse(graph)
    if not isinstance(graph, Adjacency):
        raise InputError(
            "edge_index: expected an Adjacency, an integer tensor [2, edges] or a sparse tensor, "
            f"got {type(graph).__name__}"
        )
    if (graph.num_sources, graph.num_targets) != (num_sources, num_targets):
        raise InputError(
            f"adjacency: it has {graph.num_sources} sources and {graph.num_targets} targets, "
            f"but x has {num_sources} and {num_targets} rows"
        )
    return graph


def _check_pointers(matrix: Tensor) -> None:
    """Check the pointers of a CSR or CSC matrix on a CPU: PyTorch does not, and would read and write beyond them."""
    if matrix.layout == torch.sparse_coo:
        return
    by_rows = matrix.layout == torch.sparse_csr
    pointers = matrix.crow_indices() if by_rows else matrix.ccol_indices()
    if pointers.device.type != "cpu" or type(pointers) is not Tensor or torch.compiler.is_compiling():
        return
    count, edges = matrix.shape[0 if by_rows else 1], matrix._nnz()
    if len(pointers) != count + 1 or pointers[0] != 0 or pointers[-1] != edges or bool((pointers.diff() < 0).any()):
        raise InputError(
            f"adjacency: expected {count + 1} pointers to {'rows' if by_rows else 'columns'} that rise from 0 to "
            f"{edges}, the number of entries, as torch.sparse.check_sparse_tensor_invariants checks"
        )


def _counts(size: Any) -> tuple[int, int]:
    """(sources, targets) of the argument ``num_nodes``."""
    pair = size if isinstance(size, tuple) else (size, size)
    if len(pair) != 2:
        raise InputError(f"num_nodes: expected a number or a pair (sources, targets), got {len(pair)} numbers")
    counts = []
    for name, count in zip(("sources", "targets"), pair, strict=True):
        if not isinstance(count, int | torch.SymInt):
            try:
                count = index(count)
            except TypeError:
                raise InputError(f"num_nodes: expected a whole number of {name}, got {count!r}") from None
        if count < 0:
            raise InputError(f"num_nodes: the number of {name} must not be negative, got {count}")
        counts.append(count)
    return counts[0], counts[1]


def _plain(edge_index: Tensor) -> Tensor:
    """The bare tensor behind PyG's ``EdgeIndex``, which is a tensor subclass."""
    # Other subclasses stay: they are the tensors of an export, which must not lose their trace.
    return edge_index.as_subclass(Tensor) if hasattr(edge_index, "get_sparse_size") else edge_index


def _known_size(edge_index: Tensor) -> tuple[int, int] | None:
    """(sources, targets) as an ``EdgeIndex`` knows them, where it does."""
    known = getattr(edge_index, "get_sparse_size", None)
    if known is None:
        return None
    num_sources, num_targets = known()
    return int(num_sources), int(num_targets)
