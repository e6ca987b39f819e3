"""Graphs end to end in flat arrays, from a list of PyTorch Geometric's, and in a safetensors file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from torch_geometric.data import Data

from deepergcn.data.storage.files import write_tensors
from deepergcn.data.storage.source_files import check_file
from deepergcn.errors import InputError

_NAMES = ("node_ptr", "edge_ptr", "edge_index", "x", "edge_attr")
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_FORMAT = {"format": "graphs"}


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """Graphs as :class:`deepergcn.data.Dataset` holds them; features are float32, or int64 for categories."""

    node_ptr: Tensor
    edge_ptr: Tensor
    edge_index: Tensor
    x: Tensor | None = None
    edge_attr: Tensor | None = None

    def __len__(self) -> int:
        """The number of graphs."""
        return len(self.node_ptr) - 1

    def write(self, path: Path) -> None:
        """Write the arrays to a safetensors file."""
        arrays = {name: getattr(self, name) for name in _NAMES}
        write_tensors(path, {name: array for name, array in arrays.items() if array is not None}, _FORMAT)


def read_arrays(path: Path) -> GraphArrays:
    """Read what :meth:`GraphArrays.write` has written; a dataset of the arrays checks the ends of edges."""
    check_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is not a dict
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: cannot be read as a safetensors file ({error})") from error
    if not {*_NAMES[:3]} <= set(arrays) <= {*_NAMES}:
        raise InputError(f"{path}: has the arrays {', '.join(sorted(arrays))}; expected {', '.join(_NAMES)}")
    _check(path, arrays)
    return GraphArrays(**arrays)


def _check(path: Path, arrays: dict[str, Tensor]) -> None:
    """Check the types and shapes of arrays, which anybody may have written."""
    for name in _NAMES[:2]:
        pointers = arrays[name]
        if pointers.dtype != torch.int64 or pointers.dim() != 1 or len(pointers) < 2:
            raise InputError(f"{path}: {name} is {_described(pointers)}; expected int64 [graphs + 1]")
        if int(pointers[0]) or bool((pointers.diff() < 0).any()):
            raise InputError(f"{path}: {name} does not increase from 0; expected the start of each graph")
    nodes, edges = arrays["node_ptr"], arrays["edge_ptr"]
    if len(nodes) != len(edges):
        raise InputError(
            f"{path}: node_ptr has {len(nodes) - 1} graphs and edge_ptr {len(edges) - 1}; expected the same number"
        )
    edge_index = arrays["edge_index"]
    if edge_index.dtype != torch.int64 or list(edge_index.shape) != [2, int(edges[-1])]:
        raise InputError(f"{path}: edge_index is {_described(edge_index)}; expected int64 [2, {int(edges[-1])}]")
    for name, rows in (("x", int(nodes[-1])), ("edge_attr", int(edges[-1]))):
        values = arrays.get(name)
        if values is not None and (
            values.dtype not in (torch.int64, torch.float32) or values.dim() != 2 or len(values) != rows
        ):
            raise InputError(f"{path}: {name} is {_described(values)}; expected int64 or float32 [{rows}, features]")


def _described(values: Tensor) -> str:
    return f"{str(values.dtype).removeprefix('torch.')} {list(values.shape)}"


def pyg_arrays(graphs: Sequence[Any]) -> GraphArrays:
    """The arrays of graphs of PyTorch Geometric; an error names the graph, counted from 0.

    Args:
        graphs: A list of ``Data``, or a dataset of them. Features ``x`` and ``edge_attr`` that are integers are
            categories, as PyTorch Geometric's embeddings take them.
    """
    if not len(graphs):
        raise InputError("graphs: the list is empty")
    nodes, edges = [], []
    ends: list[Tensor] = []
    features: dict[str, list[Tensor | None]] = {"x": [], "edge_attr": []}
    for number in range(len(graphs)):
        data = graphs[number]
        if not isinstance(data, Data):
            raise InputError(
                f"graphs: graph {number} is of type {type(data).__name__}; expected Data of PyTorch Geometric"
            )
        edge_index, count = data.edge_index, data.num_nodes
        if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or len(edge_index) != 2:
            found = list(edge_index.shape) if isinstance(edge_index, Tensor) else type(edge_index).__name__
            raise InputError(f"graphs: graph {number} has edge_index {found}; expected a tensor [2, edges]")
        if not count:
            raise InputError(f"graphs: graph {number} has no nodes; expected at least one")
        if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < count:
            low, high = int(edge_index.min()), int(edge_index.max())
            raise InputError(
                f"graphs: graph {number} has nodes {low} to {high} in edge_index; expected 0 to {count - 1}"
            )
        nodes.append(count)
        edges.append(edge_index.shape[1])
        ends.append(edge_index.detach().cpu().long())
        features["x"].append(_feature(data.x, "x", count, number))
        features["edge_attr"].append(_feature(data.edge_attr, "edge_attr", edge_index.shape[1], number))
    return GraphArrays(
        _pointers(nodes),
        _pointers(edges),
        torch.cat(ends, 1),
        _joined(features["x"], "x"),
        _joined(features["edge_attr"], "edge_attr"),
    )


def _pointers(counts: list[int]) -> Tensor:
    return torch.cat((torch.zeros(1, dtype=torch.int64), torch.tensor(counts).cumsum(0)))


def _feature(values: Any, name: str, rows: int, number: int) -> Tensor | None:
    if values is None:
        return None
    if not isinstance(values, Tensor) or values.dim() not in (1, 2) or len(values) != rows:
        found = list(getattr(values, "shape", ())) or type(values).__name__
        raise InputError(f"graphs: graph {number} has {name} {found}; expected [{rows}, features]")
    dense: Tensor = values.to_dense().detach().cpu()
    dense = dense[:, None] if dense.dim() == 1 else dense
    if not dense.shape[1]:
        return None
    return dense.long() if dense.dtype in _INTEGERS else dense.float()


def _joined(parts: list[Tensor | None], name: str) -> Tensor | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    first = known[0]
    for number, part in enumerate(parts):
        if part is None or part.dtype != first.dtype or part.shape[1] != first.shape[1]:
            found = "no" if part is None else f"{part.shape[1]} {str(part.dtype).removeprefix('torch.')}"
            expected = f"{first.shape[1]} {str(first.dtype).removeprefix('torch.')}"
            raise InputError(f"graphs: graph {number} has {found} {name}; expected {expected}, as in other graphs")
    return torch.cat(known)
