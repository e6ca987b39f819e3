"""The data that benchmarks make up: of the size that is asked for, readable, and without repetition."""

import csv
from pathlib import Path

import pytest
from benchmarks import predict_molecules
from benchmarks.large_tables import write_tables
from benchmarks.predict_molecules import write_molecules

from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.tables.read import read_tables


@pytest.mark.parametrize("many", [100_000, 10])
def test_molecules(many: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict_molecules, "_MANY", many)
    write_molecules(tmp_path / "made.csv", 60)
    with (tmp_path / "made.csv").open(newline="") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)]
    parsed = parse_molecules(smiles, keys=True)
    assert len(set(parsed.keys)) == len(parsed.positions) == 60


def test_tables(tmp_path: Path) -> None:
    nodes, edges = write_tables(tmp_path, 50, 200)
    dataset = read_tables(nodes, edges, label="y", root=tmp_path)
    assert (dataset.num_nodes, dataset.x is not None, dataset.task.kind) == (50, True, "multi-class")
    assert dataset.provenance is not None
