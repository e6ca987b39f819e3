"""The dataset class: every source is read into a :class:`Dataset`, and every batch is made from one."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor
from torch_geometric.data import Data

from deepergcn.data.descriptors import check_descriptors
from deepergcn.data.kernels.symmetric import symmetric_adjacency
from deepergcn.data.links.checks import check_link_parts, check_pairs
from deepergcn.data.task import Metric, Task
from deepergcn.errors import InputError
from deepergcn.ops import Adjacency

if TYPE_CHECKING:
    from deepergcn.data.provenance import AnyProvenance

PARTS = ("train", "valid", "test")
"""The parts of a split."""

_INTEGERS = (torch.uint8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Graphs with their features, labels, split and task, concatenated in flat arrays.

    Below, G is the number of graphs, N the number of all nodes, E of all stored edges, T of the task's outputs, and
    an *item* is what the task labels: a node, a graph, or a pair of nodes.

    Args:
        name: the name of the dataset.
        task: the task.
        node_ptr: int64 [G + 1]; the nodes of graph i are ``node_ptr[i]:node_ptr[i + 1]``.
        edge_ptr: int64 [G + 1]; the same for the stored edges.
        edge_index: int32 or int64 [2, E]: source and target, numbered from 0 within their own graph.
        symmetric: Whether every stored edge represents both directions. Graphs and batches contain u -> v and
            v -> u in turn, both with the edge's features, like OGB's inverse edges.
        y: Labels. float32 [items, T] with NaN where missing (0 or 1 unless a regression); for a
            multi-class task int64 [items] with -1 where missing.
        split: int64 item numbers for each of :data:`PARTS`; a part may be empty.
        digest: a digest of the raw source that the arrays come from.
        x: Node features [N, F]: float32, or integers if ``x_categories`` is given. Numbers may follow categories:
            then all are float32, and the columns of categories come first.
        x_categories: the number of values of each column of ``x`` that is a category.
        edge_attr: Edge features [E, K]: float32, or integers if ``edge_categories`` is given.
        edge_categories: as ``x_categories``.
        node_extra: further columns of the nodes by name, such as species or year; each int64 or float32 [N].
        label_names: the names of the T outputs, or empty.
        ids: the user's id of every item, or empty.
        pairs: int64 [2, items] if the task labels pairs of nodes of one graph: 1 for a link, 0 for a pair without one.
            The part train has links only; training draws pairs without a link. Messages pass over the edges.
        node_ids: the user's id of every node, if the task labels pairs of nodes; or empty.
        fingerprints: uint8 [G, counts], counts for every graph, such as the fingerprints of molecules.
        descriptors: float32 [G, numbers], numbers for every graph, NaN where unknown.
        label_columns: the start and end of the columns of ``x`` with the labels of train nodes, which the transform
            ``known-labels`` adds.
        provenance: how a user's own file was read, to read another in the same way; None for other datasets.
    """

    name: str
    task: Task
    node_ptr: Tensor
    edge_ptr: Tensor
    edge_index: Tensor
    symmetric: bool
    y: Tensor
    split: Mapping[str, Tensor]
    digest: str
    x: Tensor | None = None
    x_categories: tuple[int, ...] | None = None
    edge_attr: Tensor | None = None
    edge_categories: tuple[int, ...] | None = None
    node_extra: Mapping[str, Tensor] = field(default_factory=dict)
    label_names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    pairs: Tensor | None = None
    node_ids: tuple[str, ...] = ()
    fingerprints: Tensor | None = None
    descriptors: Tensor | None = None
    label_columns: tuple[int, int] | None = None
    provenance: "AnyProvenance | None" = None

    def __post_init__(self) -> None:
        _check_pointers("node_ptr", self.node_ptr)
        _check_pointers("edge_ptr", self.edge_ptr)
        if len(self.node_ptr) != len(self.edge_ptr):
            _fail("edge_ptr", f"{len(self.edge_ptr)} entries", f"{len(self.node_ptr)}, as node_ptr has")
        if bool((self.node_ptr.diff() < 1).any()):
            graph = int((self.node_ptr.diff() < 1).nonzero()[0])
            _fail("node_ptr", f"a graph with 0 nodes (graph {graph})", "at least one node in every graph")
        self._check_edges()
        if self.node_numbers:
            assert self.x is not None
            assert self.x_categories is not None
            _check_mixed(self.x, self.x_categories, self.num_nodes)
        else:
            _check_features("x", self.x, self.x_categories, self.num_nodes)
        _check_features("edge_attr", self.edge_attr, self.edge_categories, self.num_edges)
        for name, extra in self.node_extra.items():
            if extra.shape != (self.num_nodes,) or extra.dtype not in (torch.int64, torch.float32):
                found = f"{extra.dtype} {list(extra.shape)}"
                _fail(f"node_extra {name!r}", found, f"int64 or float32 [{self.num_nodes}]")
        check_pairs(self)
        check_descriptors(self)
        self._check_labels()
        self._check_split()
        check_link_parts(self)
        if self.label_names and len(self.label_names) != self.task.outputs:
            _fail("label_names", f"{len(self.label_names)} names", f"{self.task.outputs}, as the task says")
        if self.ids and len(self.ids) != self.num_items:
            _fail("ids", f"{len(self.ids)} ids", f"{self.num_items}, one for each {self.task.level}")

    def __len__(self) -> int:
        """The number of graphs."""
        return len(self.node_ptr) - 1

    @cached_property
    def num_nodes(self) -> int:
        """The number of nodes of all graphs."""
        return int(self.node_ptr[-1])

    @cached_property
    def num_edges(self) -> int:
        """The number of stored edges of all graphs; a symmetric edge counts once."""
        return int(self.edge_ptr[-1])

    @property
    def node_numbers(self) -> int:
        """The number of columns of ``x`` that are numbers and follow columns of categories."""
        if self.x is None or self.x_categories is None or self.x.ndim != 2 or not self.x.is_floating_point():
            return 0
        return max(self.x.shape[1] - len(self.x_categories), 0)

    @property
    def num_items(self) -> int:
        """The number of items that the task labels: nodes, graphs or pairs of nodes."""
        if self.pairs is not None:
            return self.pairs.shape[1]
        return self.num_nodes if self.task.level == "node" else len(self)

    @cached_property
    def split_part(self) -> Tensor:
        """int8 [items], the index in :data:`PARTS` of the part of each item, or -1."""
        parts = torch.full((self.num_items,), -1, dtype=torch.int8)
        for number, part in enumerate(PARTS):
            parts[self.split[part]] = number
        return parts

    def graph(self, i: int) -> Data:
        """Graph ``i`` with ``x``, ``edge_index``, ``edge_attr``, ``y`` and the extra node columns.

        Integers come as int64; the labels of a graph-level task keep a first dimension of 1. Pairs of nodes and their
        labels are called ``edge_label_index`` and ``edge_label``, as in PyG.
        """
        if not 0 <= i < len(self):
            raise InputError(f"graph {i} does not exist; {self.name} has graphs 0 to {len(self) - 1}")
        n0, n1 = self.node_ptr[i : i + 2].tolist()
        e0, e1 = self.edge_ptr[i : i + 2].tolist()
        edge_index, edge_attr = directed(
            self.edge_index[:, e0:e1],
            None if self.edge_attr is None else self.edge_attr[e0:e1],
            symmetric=self.symmetric,
        )
        data = Data(edge_index=edge_index.long(), num_nodes=n1 - n0)
        if self.x is not None:
            data.x = _wide(self.x[n0:n1], self.x_categories)
        if edge_attr is not None:
            data.edge_attr = _wide(edge_attr, self.edge_categories)
        if self.pairs is None:
            data.y = self.y[n0:n1] if self.task.level == "node" else self.y[i : i + 1]
        else:
            data.edge_label_index, data.edge_label = self.pairs, self.y[:, 0]
        for name, extra in self.node_extra.items():
            data[name] = extra[n0:n1]
        return data

    def adjacency(self) -> Adjacency:
        """The structure of a dataset of one graph, built once; its edges are those of ``graph(0)``."""
        if len(self) != 1:
            raise InputError(f"{self.name} has {len(self)} graphs; adjacency() needs a dataset of one graph")
        return self._adjacency

    @cached_property
    def _adjacency(self) -> Adjacency:
        if self.symmetric:
            return symmetric_adjacency(self.edge_index, self.num_nodes)
        return Adjacency.from_edge_index(self.edge_index, self.num_nodes)

    def with_metric(self, metric: Metric | None) -> "Dataset":
        """The dataset with another metric of its task; unchanged if None."""
        task = self.task.with_metric(metric)
        return self if task == self.task else self.replace(task=task)

    def replace(self, **changes: Any) -> "Dataset":
        """A copy with some fields changed, checked again; the other arrays are shared."""
        return dataclasses.replace(self, **changes)

    def _check_edges(self) -> None:
        edges = self.edge_index
        if edges.dtype not in (torch.int32, torch.int64) or edges.shape != (2, self.num_edges):
            found = f"{edges.dtype} {list(edges.shape)}"
            _fail("edge_index", found, f"int32 or int64 [2, {self.num_edges}], as edge_ptr says")
        if self.num_edges == 0:
            return
        low, high = edges.aminmax()
        if len(self) == 1:
            outside = bool(low < 0) or bool(high >= self.num_nodes)
        else:
            limit = self.node_ptr.diff().to(edges.dtype).repeat_interleave(self.edge_ptr.diff())
            outside = bool(low < 0) or bool((edges >= limit).any())
        if outside:
            _fail("edge_index", f"node numbers from {int(low)} to {int(high)}", "those of each graph's nodes")

    def _check_labels(self) -> None:
        y, task, items = self.y, self.task, self.num_items
        multi_class = task.kind == "multi-class"
        shape = (items,) if multi_class else (items, task.outputs)
        dtype = torch.int64 if multi_class else torch.float32
        if y.dtype != dtype or y.shape != shape:
            _fail("y", f"{y.dtype} {list(y.shape)}", f"{dtype} {list(shape)}")
        if multi_class:
            if int(y.min()) < -1 or int(y.max()) >= task.outputs:
                expected = f"classes 0 to {task.outputs - 1}, or -1 where missing"
                _fail("y", f"values from {int(y.min())} to {int(y.max())}", expected)
        elif task.kind == "regression":
            if bool(y.isinf().any()):
                _fail("y", "an infinite value", "finite numbers, or NaN where missing")
        elif not bool(((y == 0) | (y == 1) | y.isnan()).all()):
            _fail("y", "a value other than 0 and 1", "0, 1, or NaN where missing")

    def _check_split(self) -> None:
        if set(self.split) != set(PARTS):
            _fail("split", f"parts {', '.join(map(str, self.split)) or 'none'}", ", ".join(PARTS))
        owner = torch.zeros(self.num_items, dtype=torch.uint8)
        for number, part in enumerate(PARTS, start=1):
            index = self.split[part]
            if index.dtype != torch.int64 or index.ndim != 1:
                _fail(f"split {part!r}", f"{index.dtype} {list(index.shape)}", "int64 [items]")
            if len(index) and (int(index.min()) < 0 or int(index.max()) >= self.num_items):
                found = f"numbers from {int(index.min())} to {int(index.max())}"
                _fail(f"split {part!r}", found, f"0 to {self.num_items - 1}")
            taken = owner[index].nonzero()
            if len(taken):
                item = int(index[taken[0]])
                other = PARTS[int(owner[item]) - 1]
                _fail(f"split {part!r}", f"{self.task.level} {item}, which is in {other!r} too", "no overlap")
            owner[index] = number
            if int((owner == number).sum()) != len(index):
                _fail(f"split {part!r}", "a repeated number", "every number once")


def directed(edge_index: Tensor, edge_attr: Tensor | None, *, symmetric: bool) -> tuple[Tensor, Tensor | None]:
    """The edges with the reverse of each right after it where ``symmetric``, as OGB orders them."""
    if not symmetric:
        return edge_index, edge_attr
    both = torch.stack((edge_index, edge_index.flip(0)), dim=2).reshape(2, -1)
    return both, None if edge_attr is None else edge_attr.repeat_interleave(2, dim=0)


def _wide(features: Tensor, categories: tuple[int, ...] | None) -> Tensor:
    return features if categories is None or features.is_floating_point() else features.long()


def _fail(name: str, found: str, expected: str) -> NoReturn:
    raise InputError(f"dataset field {name} has {found}; expected {expected}")


def _check_pointers(name: str, pointers: Tensor) -> None:
    if pointers.dtype != torch.int64 or pointers.ndim != 1 or len(pointers) < 2:
        _fail(name, f"{pointers.dtype} {list(pointers.shape)}", "int64 [graphs + 1] with at least one graph")
    if int(pointers[0]) != 0 or bool((pointers.diff() < 0).any()):
        _fail(name, "entries that do not rise from 0", "0 first, and no entry below the one before")


def _check_features(name: str, values: Tensor | None, categories: tuple[int, ...] | None, rows: int) -> None:
    if values is None:
        if categories is not None:
            _fail(name, "categories but no values", "both or neither")
        return
    if values.ndim != 2 or len(values) != rows or values.shape[1] < 1:
        _fail(name, f"shape {list(values.shape)}", f"[{rows}, at least 1]")
    if categories is None:
        if values.dtype != torch.float32:
            _fail(name, f"{values.dtype}", "float32, or integers with their categories")
        # aminmax needs no temporary array, and a NaN anywhere comes out of it.
        if rows and not all(bound.isfinite() for bound in values.aminmax()):
            _fail(name, "a value that is not finite", "finite numbers")
        return
    if values.dtype not in _INTEGERS or len(categories) != values.shape[1]:
        found = f"{values.dtype} with {values.shape[1]} columns and {len(categories)} categories"
        _fail(name, found, "integers with one number of categories for each column")
    _check_range(name, values, categories)


def _check_mixed(values: Tensor, categories: tuple[int, ...], rows: int) -> None:
    """Categories, as float32, and the numbers that follow them."""
    _check_features("x", values, None, rows)
    kinds = values[:, : len(categories)]
    if not torch.equal(kinds, kinds.trunc()):
        _fail("x", "a category that is no integer", f"categories in the first {len(categories)} columns")
    _check_range("x", kinds, categories)


def _check_range(name: str, values: Tensor, categories: tuple[int, ...]) -> None:
    if not len(values):
        return
    for column, (low, high, count) in enumerate(
        zip(values.amin(0).tolist(), values.amax(0).tolist(), categories, strict=True)
    ):
        if low < 0 or high >= count:
            _fail(name, f"values from {low:g} to {high:g} in column {column}", f"0 to {count - 1}")
