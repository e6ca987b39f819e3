"""Graphs with a label each: from PyTorch Geometric to a folder to a dataset, and others read like them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch_geometric.data import Data

from deepergcn.data import load_dataset
from deepergcn.data.dataset import Dataset
from deepergcn.data.graphs.arrays import pyg_arrays, read_arrays
from deepergcn.data.graphs.read import read_graphs, read_graphs_to_predict
from deepergcn.errors import InputError

COUNT = 20


def ring(size: int, **features: Any) -> Data:
    nodes = torch.arange(size)
    return Data(edge_index=torch.stack((nodes, (nodes + 1) % size)), num_nodes=size, **features)


def graphs() -> list[Data]:
    generator = torch.Generator().manual_seed(0)
    return [
        ring(
            3 + number % 3,
            x=torch.randn(3 + number % 3, 2, generator=generator) * 10 + 5,
            edge_attr=torch.arange(3 + number % 3) % 3,
        )
        for number in range(COUNT)
    ]


def folder_of(folder: Path, labels: list[Any] | None = None) -> Path:
    pyg_arrays(graphs()).write(folder / "graphs.safetensors")
    table = pa.table({"name": [f"g{i}" for i in range(COUNT)], "y": labels or ["no", "yes"] * (COUNT // 2)})
    pyarrow.parquet.write_table(table, folder / "graphs.parquet")
    return folder


def test_arrays_come_back_and_hold_every_graph(tmp_path: Path) -> None:
    arrays = read_arrays(folder_of(tmp_path) / "graphs.safetensors")
    assert len(arrays) == COUNT
    given = graphs()[4]
    n0, n1 = arrays.node_ptr[4:6].tolist()
    e0, e1 = arrays.edge_ptr[4:6].tolist()
    assert arrays.x is not None
    assert arrays.edge_attr is not None
    assert torch.equal(arrays.x[n0:n1], given.x)
    assert torch.equal(arrays.edge_index[:, e0:e1], given.edge_index)
    assert torch.equal(arrays.edge_attr[e0:e1, 0], given.edge_attr)


def test_numbers_are_standardized_over_train_and_integers_are_categories(tmp_path: Path) -> None:
    dataset = load_dataset(folder_of(tmp_path), label="y", id_column="name", standardize=True)
    assert (dataset.task.kind, dataset.task.level, dataset.edge_categories) == ("binary", "graph", (3,))
    assert dataset.ids[3] == "g3"
    assert dataset.x is not None
    rows = torch.cat([torch.arange(*dataset.node_ptr[g : g + 2].tolist()) for g in dataset.split["train"].tolist()])
    torch.testing.assert_close(dataset.x[rows].mean(0), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(dataset.x[rows].std(0, correction=0), torch.ones(2))


def test_others_are_read_as_those_of_training(tmp_path: Path) -> None:
    trained = read_graphs(folder_of(tmp_path), label="y", standardize=True)
    alone = read_graphs_to_predict(pyg_arrays(graphs()[:1]), provenance=trained.provenance)
    assert trained.x is not None
    assert alone.x is not None
    assert torch.equal(alone.x, trained.x[:3])
    assert bool(alone.y.isnan().all())
    whole = read_graphs_to_predict(tmp_path, provenance=trained.provenance)
    assert whole.digest == trained.digest


def predict(trained: Dataset, *data: Data) -> None:
    read_graphs_to_predict(pyg_arrays(data), provenance=trained.provenance)


def test_what_is_refused(tmp_path: Path) -> None:
    trained = read_graphs(folder_of(tmp_path), label="y")
    attr = torch.zeros(3, dtype=torch.long)
    with pytest.raises(InputError, match="x has 3 features of numbers; the network was trained on 2 features of numb"):
        predict(trained, ring(3, x=torch.ones(3, 3), edge_attr=attr))
    with pytest.raises(InputError, match="edge_attr has no features; the network was trained on 1 feature of integ"):
        predict(trained, ring(3, x=torch.ones(3, 2)))
    with pytest.raises(InputError, match="edge_attr has values from 0 to 7 in column 0; expected 0 to 2"):
        predict(trained, ring(3, x=torch.ones(3, 2), edge_attr=attr + torch.tensor([0, 0, 7])))
    with pytest.raises(InputError, match="graph 1 has no x; expected 2 float32, as in other graphs"):
        predict(trained, ring(3, x=torch.ones(3, 2)), ring(3))
    with pytest.raises(InputError, match="graphs: graph 0 has nodes 0 to 3 in edge_index; expected 0 to 2"):
        pyg_arrays([Data(edge_index=torch.tensor([[0], [3]]), num_nodes=3)])
    with pytest.raises(InputError, match="graph 0 has no x; expected 2 float32, as in other graphs"):
        predict(trained, ring(3), ring(3, x=torch.ones(3, 2)))
    with pytest.raises(InputError, match=r"graphs: graph 0 has edge_index \[3, 2\]; expected a tensor \[2, edges\]"):
        pyg_arrays([Data(edge_index=torch.zeros(3, 2, dtype=torch.long), num_nodes=3)])
    with pytest.raises(InputError, match="graphs: graph 0 is of type int"):
        pyg_arrays([1])
    with pytest.raises(InputError, match="graphs: the list is empty"):
        pyg_arrays([])
    (tmp_path / "graphs.safetensors").write_bytes(b"damaged")
    with pytest.raises(InputError, match=r"graphs\.safetensors: cannot be read as a safetensors file"):
        read_graphs(tmp_path, label="y")


def test_rows_and_graphs_must_agree(tmp_path: Path) -> None:
    folder_of(tmp_path)
    pyarrow.parquet.write_table(pa.table({"y": ["no", "yes"]}), tmp_path / "graphs.parquet")
    with pytest.raises(InputError, match="has 2 rows; expected 20, one for each graph"):
        read_graphs(tmp_path, label="y")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("node_ptr", lambda t: t.half(), r"node_ptr is float16 \[21\]; expected int64 \[graphs \+ 1\]"),
        ("node_ptr", lambda t: t[0], r"node_ptr is int64 \[\]; expected int64"),
        ("edge_ptr", lambda t: t[:0], r"edge_ptr is int64 \[0\]; expected int64"),
        ("edge_ptr", lambda t: t[:-1], "node_ptr has 20 graphs and edge_ptr 19; expected the same number"),
        ("node_ptr", lambda t: t.flip(0), "node_ptr does not increase from 0"),
        ("edge_index", lambda t: t[:1], r"edge_index is int64 \[1, 79\]; expected int64 \[2, 79\]"),
        ("edge_index", lambda t: t + 1, "edge_index"),
        ("x", lambda t: t[1:], r"x is float32 \[78, 2\]; expected int64 or float32 \[79, features\]"),
        ("edge_attr", lambda t: t.to(torch.complex64), r"edge_attr is complex64 \[79, 1\]; expected int64 or float32"),
    ],
)
def test_damaged_arrays_are_one_clear_error(
    name: str, change: Callable[[Tensor], Tensor], message: str, tmp_path: Path
) -> None:
    file = folder_of(tmp_path) / "graphs.safetensors"
    arrays = load_file(file)
    save_file({**arrays, name: change(arrays[name]).contiguous()}, file)
    with pytest.raises(InputError, match=message):
        read_graphs(tmp_path, label="y", standardize=True)


def test_the_column_of_names_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"graphs\.parquet: there is no column 'title' for the ids"):
        read_graphs(folder_of(tmp_path), label="y", id_column="title")
