"""The bytes that the GPU's kernels move, counted from their loads and stores, beside those of PyTorch Geometric.

    python -m benchmarks.traffic            # writes the table of docs/gpu.md; no GPU is needed

The kernels run under Triton's interpreter, which is asked for every load and store how many bytes of it are not masked;
PyTorch's own operators, ours between kernels and all of PyG's, count every input read once and every output written
once, a gather what it gathers. Caches are not modelled: it is what a device has to serve, from memory or cache. Two
graphs that differ in their edges alone, and two that differ in their nodes alone, give the bytes an edge and a node.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"  # read once, when Triton is imported

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch_geometric.nn import GENConv
from triton.runtime.interpreter import InterpreterBuilder

from deepergcn import ops
from deepergcn.ops.operators import device

DOCUMENT = Path(__file__).parents[1] / "docs" / "gpu.md"
CHANNELS, FEATURES, ROWS = 64, 8, 60
BANDWIDTH = {"A100": 2.0e12, "H100": 3.35e12}  # bytes a second of the 80 GB models
_FREE = ("view", "expand", "slice", "select", "detach", "alias", "unsqueeze", "transpose", "aten.t.", "permute", "set_")
_FREE_TOO = ("empty", "unbind", "as_strided", "split", "reshape", "squeeze")
_GATHERS = ("index_select", "aten.index.", "gather", "embedding")

Work = Callable[[], object]
CASES = [
    "softmax, none",
    "softmax, affine",
    "softmax, table",
    "softmax, dense",
    "power mean, none",
    "max, none",
    "mean, none",
]


class Operators(TorchDispatchMode):
    """The bytes that PyTorch's operators read and write; bytes as such are moved by the interpreter alone."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes: int = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        name = str(function)
        written = _size(result)
        if not any(free in name for free in (*_FREE, *_FREE_TOO)) and "deepergcn" not in name:
            read = written + _size(args[1:]) if any(g in name for g in _GATHERS) else _size((args, kwargs))
            self.bytes += read + written
        return result


def _size(tree: Any) -> int:
    return sum(
        t.numel() * t.element_size() for t in tree_leaves(tree) if isinstance(t, Tensor) and t.dtype != torch.uint8
    )


@contextmanager
def counted() -> Iterator[list[int]]:
    """A list that holds the bytes moved within, once it ends."""
    found: list[int] = []
    kernels = [0]
    load, store = InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store

    def count(pointers: Any, mask: Any) -> None:
        lanes = np.broadcast_to(mask.data, pointers.data.shape)
        kernels[0] += int(lanes.sum()) * pointers.get_element_ty().primitive_bitwidth // 8

    def counting_load(self: Any, pointers: Any, mask: Any, *rest: Any) -> Any:
        count(pointers, mask)
        return load(self, pointers, mask, *rest)

    def counting_store(self: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        count(pointers, mask)
        return store(self, pointers, value, mask, *rest)

    InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store = counting_load, counting_store
    try:
        with Operators() as operators, np.errstate(all="ignore"):
            yield found
    finally:
        InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store = load, store
        found.append(kernels[0] + operators.bytes)


def edge_index(nodes: int, edges: int) -> Tensor:
    """A graph in which every node sends and receives equally often."""
    number = torch.arange(edges)
    return torch.stack([number % nodes, (number + number // nodes) % nodes])


def edge_features(kind: str, edges: int) -> tuple[Any, list[Tensor]]:
    """The edge term and what is learned in it."""
    if kind == "affine":
        term = ops.Affine(torch.rand(edges, FEATURES), torch.randn(CHANNELS, FEATURES), torch.randn(CHANNELS))
        return term, [t.requires_grad_() for t in term[1:] if t is not None]
    if kind == "table":
        table = ops.Table(torch.arange(edges, dtype=torch.int32) % ROWS, torch.randn(ROWS, CHANNELS))
        return table, [table.table.requires_grad_()]
    if kind == "dense":
        dense = ops.Dense(torch.randn(edges, CHANNELS, requires_grad=True))
        return dense, [dense.features]
    return None, []


def ours(case: str, nodes: int, edges: int, dtype: torch.dtype = torch.float32) -> Work:
    """Forward and backward of one aggregation by the GPU's kernels."""
    function, kind = case.split(", ")
    adjacency = ops.Adjacency.from_edge_index(edge_index(nodes, edges), nodes)
    x = torch.rand(nodes, CHANNELS).to(dtype).requires_grad_()
    term, learned = edge_features(kind, edges)
    parameter = torch.ones((), requires_grad=True)
    named = {"softmax": {"beta": parameter}, "power mean": {"p": parameter}}.get(function, {})
    aggregate = getattr(ops, function.replace(" ", "_"))

    def work() -> None:
        out = aggregate(x, adjacency, term, **named)
        torch.autograd.grad(out, [x, *learned, *named.values()], torch.ones_like(out))

    return work


def pyg(case: str, nodes: int, edges: int) -> Work:
    """The same by PyTorch Geometric; the edge term as a tensor, made from its factors."""
    function, kind = case.split(", ")
    aggr = {"power mean": "powermean"}.get(function, function)
    learn = {"softmax": {"learn_t": True}, "powermean": {"learn_p": True}}.get(aggr, {})
    conv = GENConv(CHANNELS, CHANNELS, num_layers=1, aggr=aggr, **learn)
    x = torch.rand(nodes, CHANNELS, requires_grad=True)
    index = edge_index(nodes, edges)
    term, learned = edge_features(kind, edges)

    def work() -> None:
        features = None if term is None else term.materialize()
        out = conv.propagate(index, x=(x, x), edge_attr=features)
        torch.autograd.grad(out, [x, *learned, *conv.aggr_module.parameters()], torch.ones_like(out))

    return work


def bytes_of(make: Callable[[int, int], Work], nodes: int, edges: int) -> int:
    work = make(nodes, edges)
    with counted() as found:
        work()
    return found[0]


def per_node_and_edge(make: Callable[[int, int], Work]) -> tuple[float, float]:
    """The bytes a node and an edge of forward and backward together."""
    base, more_nodes, more_edges = (bytes_of(make, *size) for size in ((4, 256), (8, 256), (4, 512)))
    return (more_nodes - base) / 4, (more_edges - base) / 256


@contextmanager
def cpu_as_gpu() -> Iterator[None]:
    """Within it, operators on CPU tensors are computed by the GPU's kernels; a row is a hub beyond any size here."""
    launch, on_gpu = device.gpu_kernels("launch"), device.on_gpu
    shortest = launch._SHORTEST_HUB
    device.on_gpu, launch._SHORTEST_HUB = lambda x: x.device.type == "cpu", 1 << 20
    try:
        yield
    finally:
        device.on_gpu, launch._SHORTEST_HUB = on_gpu, shortest


def row(case: str) -> str:
    """The row of the table for one aggregation; the times are for ogbn-arxiv's graph."""
    with cpu_as_gpu():
        nodes, edges = per_node_and_edge(lambda n, e: ours(case, n, e))
    pyg_nodes, pyg_edges = per_node_and_edge(lambda n, e: pyg(case, n, e))
    cells = [f"{edges:,.0f} / {nodes:,.0f}", f"{pyg_edges:,.0f} / {pyg_nodes:,.0f}"]
    for bandwidth in BANDWIDTH.values():
        mine, theirs = (
            (169_343 * n + 2_484_941 * e) / bandwidth * 1e3 for n, e in ((nodes, edges), (pyg_nodes, pyg_edges))
        )
        cells.append(f"{mine:.1f} / {theirs:.1f} ms")
    return f"| {case} | " + " | ".join(cells) + " |"


def main() -> None:
    head = "| aggregation, edge term | ours, bytes an edge / a node | PyG | A100, ours / PyG | H100, ours / PyG |"
    table = "\n".join([head, "|---|---|---|---|---|", *map(row, CASES)])
    before, _, rest = DOCUMENT.read_text().partition("<!-- traffic -->\n")
    _, _, after = rest.partition("<!-- end -->\n")
    DOCUMENT.write_text(f"{before}<!-- traffic -->\n\n{table}\n\n<!-- end -->\n{after}")


if __name__ == "__main__":
    main()
