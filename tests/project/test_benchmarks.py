"""The benchmarks of a GPU, run here on the CPU and small: every code beside ours works, and the tables are written."""

import csv
import dataclasses
import gc
import sys
from pathlib import Path

import pytest
import torch
from benchmarks import aggregation_arxiv, aggregation_proteins, epoch_molhiv, gpu, growth, measure, whole_steps
from benchmarks.measure import CPU, Comparison

from deepergcn.data import load_dataset
from tests.training.small import molecules

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")

EDGES = torch.randint(20, (2, 60), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Graphs of 20 nodes, networks of 2 layers, nothing compiled; the folder of the results."""
    arxiv, proteins = (EDGES, 20, "generated"), (EDGES, torch.rand(60, 8), 20)
    monkeypatch.setattr(aggregation_arxiv, "graph", lambda: arxiv)
    monkeypatch.setattr(aggregation_proteins, "graph", lambda: proteins)
    monkeypatch.setattr(whole_steps, "arxiv", lambda: arxiv)
    monkeypatch.setattr(whole_steps, "proteins_partition", lambda: proteins)
    monkeypatch.setattr(whole_steps, "DEPTHS", {"proteins": 2, "arxiv": 2})
    monkeypatch.setattr(growth, "SIZES", {"edges": [1000, 2000]})
    monkeypatch.setattr(gpu, "WARM_UP", 1)
    monkeypatch.setattr(torch, "compile", lambda function: function)
    monkeypatch.setattr(gc, "collect", lambda: 0)  # half a second each, with all that is imported here
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    monkeypatch.setattr(growth, "RESULTS", tmp_path)
    return tmp_path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_table_of_the_cpu_is_measured_on_a_gpu_too(small: Path) -> None:
    tables = [(dtype, dataclasses.replace(table, repeats=1)) for dtype, table in gpu.comparisons(CPU)]
    tables = [(dtype, table) for dtype, table in tables if not table.title.endswith("batch of 256")]
    gpu.compare(tables, CPU, gpu="none")
    found = rows(small / "gpu.csv")
    for dtype in ("float32", "bfloat16"):
        for title in ("softmax, 20 nodes", "power mean, 20 nodes", "8 edge features, two Linears"):
            of_title = [r for r in found if title in r["measurement"] and r["measurement"].endswith(dtype)]
            assert {"deepergcn", "PyG", "PyG, torch.compile"} <= {r["contestant"] for r in of_title}
    for title in (
        "ogbg-molhiv network, batch of 32",
        "2-layer training step, proteins",
        "2-layer training step, arxiv",
    ):
        of_title = [row for row in found if title in row["measurement"]]
        assert {"deepergcn", "PyG"} <= {row["contestant"] for row in of_title}
    assert all(float(row["seconds"]) > 0 and int(row["extra_bytes"]) >= 0 for row in found)


def test_a_code_that_fails_is_named_and_the_others_go_on(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> measure.Step:
        raise torch.OutOfMemoryError("out of memory\nat great length")

    table = Comparison("work", {"deepergcn": lambda: lambda: None, "PyG": fails}, repeats=2)
    gpu.compare([("float32", table)], CPU)
    assert "work, float32: PyG failed: out of memory\n" in capsys.readouterr().out
    assert [row["contestant"] for row in rows(small / "gpu.csv")] == ["deepergcn"]
    with pytest.raises(torch.OutOfMemoryError):
        gpu.compare([("float32", Comparison("work", {"deepergcn": fails}, repeats=2))], CPU)


def test_growth_and_an_epoch_of_molecules(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    growth.grow(lambda axis, size: growth.measure(axis, size, CPU), "gpu_growth", gpu="none")
    assert [row["edges"] for row in rows(small / "gpu_growth.csv")] == ["1000", "2000"]
    assert (small / "gpu_growth_edges.png").exists()
    dataset = load_dataset(molecules(small, count=12), targets=["active"], split_column="split")
    dataset.y.nan_to_num_()
    monkeypatch.setattr(epoch_molhiv, "load_dataset", lambda folder: dataset)
    monkeypatch.setattr(epoch_molhiv, "data_folder", lambda name: small)
    monkeypatch.setattr(epoch_molhiv, "ours", lambda folder: 1.0)
    epoch_molhiv.measure(CPU, "gpu", gpu="none")
    assert [row["contestant"] for row in rows(small / "gpu.csv")] == ["deepergcn train", "PyG"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_is_one_line() -> None:
    with pytest.raises(SystemExit, match=r"^bench-gpu: there is no GPU here, and nothing was measured$"):
        gpu.main()
