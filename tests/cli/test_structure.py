"""Sparse features and graphs without features, from training to predictions on the command line."""

from pathlib import Path

import numpy as np
import pytest

from tests.cli.own_data.own_files import EDGES, nodes
from tests.cli.program import Program

SMALL = ["--set", "model.num_layers=2", "--set", "model.hidden_channels=8", "--epochs", 1, "--out", "run"]


def files(folder: Path) -> list[object]:
    (folder / "nodes.csv").write_text(nodes())
    (folder / "edges.csv").write_text(EDGES)
    return ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "y"]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ([], "encoding  none in the tables; every node has its degree, which new nodes have too (or --encoding"),
        (
            ["--encoding", "random-walk"],
            "encoding  none in the tables, and for every node the return probabilities of random",
        ),
        (["--encoding", "learned"], "encoding  none in the tables, and for every node a learned embedding"),
    ],
    ids=["degree", "random-walk", "learned"],
)
def test_a_graph_without_features(deepergcn: Program, tmp_path: Path, said: list[object], line: str) -> None:
    given = files(tmp_path)
    trained = deepergcn("train", *given, *said, *SMALL)
    assert trained.code == 0, trained.err
    assert line in trained.out
    assert deepergcn("evaluate", "run", "--split", "test").code == 0
    predict = ["predict", "run", "nodes.csv", "--edges", "edges.csv", "-o", "p.csv"]
    assert deepergcn(*predict).out.startswith("p.csv: 60 rows\n")
    (tmp_path / "nodes.csv").write_text(nodes().replace("n7,", "n8,", 1).replace("n8,", "n7,", 1).rstrip() + "\nz,a\n")
    answer = deepergcn(*predict)
    if "learned" in said:
        assert "the ids differ from those of training" in answer.err
    else:
        assert answer.out.startswith("p.csv: 61 rows\n")


def test_sparse_features(deepergcn: Program, tmp_path: Path) -> None:
    given = files(tmp_path)
    dense = np.eye(60, 5, dtype=np.float32)
    pointers = np.concatenate(([0], np.cumsum(dense.sum(1)))).astype(np.int32)
    matrix = {"indices": np.arange(5), "indptr": pointers, "data": np.ones(5), "shape": (60, 5), "format": b"csr"}
    np.savez(tmp_path / "f.npz", **matrix)  # type: ignore[arg-type]
    trained = deepergcn("train", *given, "--node-features", "f.npz", "--projection", 4, *SMALL)
    assert trained.code == 0, trained.err
    assert "features  f.npz (5 sparse features, projected at random to 4 channels as given)" in trained.out
    assert deepergcn("evaluate", "run", "--split", "test").code == 0
    assert deepergcn("evaluate", "run", "--data", "nodes.csv", "--edges", "edges.csv").code == 0
    predict = ["predict", "run", "nodes.csv", "--edges", "edges.csv", "-o", "p.csv"]
    assert deepergcn(*predict, "--node-features", "f.npz").out.startswith("p.csv: 60 rows\n")
    assert "--node-features: the network was trained with sparse features" in deepergcn(*predict).err


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (["--encoding", "magic"], "encoding is 'magic'; expected one of degree, random-walk, learned, edges"),
        (["--projection", 8], "--projection: applies to sparse features; expected --node-features with it"),
        (["--encoding", "edges"], "has no edge features; expected numbers"),
        (["--node-features", "none.npz"], "none.npz: there is no such file"),
    ],
)
def test_what_is_refused(deepergcn: Program, tmp_path: Path, said: list[object], message: str) -> None:
    answer = deepergcn("train", *files(tmp_path), *said, *SMALL)
    assert (answer.code, message in answer.err) == (2, True), answer.err
