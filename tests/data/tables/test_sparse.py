"""Sparse features: a matrix of scipy and a table give the same, and mismatches are named."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from deepergcn.data.tables import sparse
from deepergcn.data.tables.read import read_tables, read_tables_to_predict
from deepergcn.data.tables.sparse import SparseFeatures, dense_features, infer_sparse, read_entries
from deepergcn.errors import InputError
from tests.training.trained import write_lines

DENSE = np.array([[0, 2.5, 0], [1, 0, 0], [0, 0, 0], [0, 4, -1]], dtype=np.float32)
IDS = pa.array(["a", "b", "c", "d"])


def matrix(path: Path, dense: np.ndarray = DENSE, **changes: Any) -> Path:
    """As scipy.sparse.save_npz writes a CSR matrix."""
    rows, columns = np.nonzero(dense)
    pointers = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(dense)))))
    arrays = {
        "format": b"csr",
        "shape": dense.shape,
        "data": dense[rows, columns],
        "indices": columns,
        "indptr": pointers,
    }
    np.savez(path, **(arrays | changes))
    return path


def table(path: Path) -> Path:
    return write_lines(path, "id,feature,value", "d,z,-1", "a,y,2.5", "b,x,1", "d,y,4")


@pytest.mark.parametrize("form", ["npz", "csv"])
def test_both_forms(tmp_path: Path, form: str) -> None:
    path = matrix(tmp_path / "f.npz") if form == "npz" else table(tmp_path / "f.csv")
    entries = read_entries(path, IDS, "id", tmp_path / "nodes.csv")
    how = infer_sparse(entries, 4, None)
    assert how == SparseFeatures(3, ("x", "y", "z") if form == "csv" else (), 0)
    np.testing.assert_array_equal(dense_features(entries, how, 4, path), DENSE)


def test_as_scipy_writes_it(tmp_path: Path) -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    scipy_sparse.save_npz(tmp_path / "f.npz", scipy_sparse.csr_matrix(DENSE))
    entries = read_entries(tmp_path / "f.npz", IDS, "id", tmp_path / "nodes.csv")
    np.testing.assert_array_equal(dense_features(entries, SparseFeatures(3), 4, tmp_path), DENSE)
    scipy_sparse.save_npz(tmp_path / "f.npz", scipy_sparse.coo_matrix(DENSE))
    with pytest.raises(InputError, match="holds a matrix of format coo; expected scipy"):
        read_entries(tmp_path / "f.npz", IDS, "id", tmp_path / "nodes.csv")


def test_a_projection_keeps_distances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = np.random.default_rng(0).normal(size=(6, 40)).astype(np.float32)
    path = matrix(tmp_path / "f.npz", dense)
    entries = read_entries(path, pa.array(list("abcdef")), "id", path)
    found = dense_features(entries, SparseFeatures(40, (), 4096), 6, path)
    assert found.shape == (6, 4096)
    ours, theirs = torch.cdist(found, found), torch.cdist(torch.from_numpy(dense), torch.from_numpy(dense))
    torch.testing.assert_close(ours, theirs, rtol=0.1, atol=0.1)
    monkeypatch.setattr(sparse, "_BLOCK", 4_096)
    torch.testing.assert_close(dense_features(entries, SparseFeatures(40, (), 4096), 6, path), found, rtol=0, atol=0)
    assert infer_sparse(entries, 10**8, None).projection == 512
    assert infer_sparse(entries, 10**8, 0).projection == 0
    with pytest.raises(InputError, match="projection is -1"):
        infer_sparse(entries, 6, -1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,x,1", "e,x,1"], "row 2: id 'e' is not the id of a node in nodes.csv"),
        (["a,x,1", "a,x,2"], "row 2: the node already has a value for this feature in an earlier row"),
        (["a,,1"], "row 1: the feature is empty"),
        (["a,x,"], "row 1: the value is empty; expected a number"),
        (["a,x,much"], "row 1: column 'value' is 'much'; expected a number"),
        ([], "the table has no rows"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, rows: list[str], message: str) -> None:
    path = write_lines(tmp_path / "f.csv", "id,feature,value", *rows)
    with pytest.raises(InputError) as caught:
        read_entries(path, IDS, "id", Path("nodes.csv"))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": (3, 3)}, "has 3 rows; expected 4, one for each row of nodes.csv"),
        ({"indices": np.array([0, 1, 1, 3])}, "is damaged: its pointers or column numbers do not fit its shape 4 x 3"),
        ({"indptr": np.array([0, 1, 0, 2, 4])}, "is damaged"),
        ({"data": np.array([1, np.inf, 1, 1])}, "row 2 has a value that is not a finite float32 number"),
        ({"format": b"csc"}, "holds a matrix of format csc"),
    ],
)
def test_matrices_that_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = matrix(tmp_path / "f.npz", **changes)
    with pytest.raises(InputError) as caught:
        read_entries(path, IDS, "id", Path("nodes.csv"))
    assert message in str(caught.value)


def test_other_files_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be read; expected scipy"):
        read_entries(tmp_path / "f.npz", IDS, "id", Path("nodes.csv"))
    (tmp_path / "f.txt").write_text("x")
    with pytest.raises(InputError, match=r"expected a scipy matrix \(\.npz\) or a table"):
        read_entries(tmp_path / "f.txt", IDS, "id", Path("nodes.csv"))


def test_the_features_of_training(tmp_path: Path) -> None:
    nodes = write_lines(tmp_path / "nodes.csv", "id,y,size", *(f"n{i},{'ab'[i % 2]},{i}" for i in range(12)))
    edges = write_lines(tmp_path / "edges.csv", "source,target", *(f"n{i},n{(i + 1) % 12}" for i in range(12)))
    path = write_lines(tmp_path / "f.csv", "id,feature,value", *(f"n{i},w{i % 3},{i + 1}" for i in range(12)))
    dataset = read_tables(nodes, edges, label="y", sparse=str(path), root=tmp_path)
    assert dataset.x is not None
    assert dataset.x[4].tolist() == [4.0, 0.0, 5.0, 0.0]
    again = read_tables_to_predict(nodes, edges, provenance=dataset.provenance, sparse=path)
    assert again.x is not None
    assert torch.equal(again.x, dataset.x)
    assert again.digest == dataset.digest
    with pytest.raises(
        InputError,
        match="--node-features: the network was trained with sparse features; expected the file for the nodes of",
    ):
        read_tables_to_predict(nodes, edges, provenance=dataset.provenance)
    write_lines(path, "id,feature,value", "n1,w1,7", "n2,new,1")
    with pytest.raises(InputError, match=r"row 2: feature 'new' was not seen in training \(--unseen other"):
        read_tables_to_predict(nodes, edges, provenance=dataset.provenance, sparse=path)
    found = read_tables_to_predict(nodes, edges, provenance=dataset.provenance, sparse=path, unseen="other").x
    assert found is not None
    assert found[:3, 1:].tolist() == [[0, 0, 0], [0, 7, 0], [0, 0, 0]]
    with pytest.raises(InputError, match="has 3 features; the network was trained on 3 named features"):
        read_tables_to_predict(
            nodes, edges, provenance=dataset.provenance, sparse=matrix(tmp_path / "f.npz", np.ones((12, 3)))
        )
    plain = read_tables(nodes, edges, label="y", root=tmp_path)
    with pytest.raises(
        InputError, match="--node-features: the network was trained without sparse features; expected no"
    ):
        read_tables_to_predict(nodes, edges, provenance=plain.provenance, sparse=path)
