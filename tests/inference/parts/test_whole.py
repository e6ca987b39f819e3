"""What is computed at once is written some rows at a time, to a file or to the parts of a folder."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from deepergcn.data.tables.columns import Columns
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.inference.parts import slices
from deepergcn.inference.parts.folder import PartJob
from deepergcn.inference.parts.write import write_whole
from deepergcn.inference.predictions import Embeddings, Predictions

ROWS = 8
IDS = tuple(f"node {i}" for i in range(ROWS))


@pytest.fixture
def predictions() -> Predictions:
    """Eight rows, the second half of which could not be read, beside a column with line breaks in its name."""
    values = np.linspace(0, 1, ROWS, dtype=np.float32)[:, None]
    values[ROWS // 2 :] = np.nan
    table = pa.table({"a\nname": [f'"{i}", and more' for i in range(ROWS)]})
    task = Task("node", "binary", 1, "rocauc")
    return Predictions(task, ("y",), (("no", "yes"),), IDS, values, inputs=Columns(Path("nodes.csv"), table))


@pytest.fixture
def embeddings() -> Embeddings:
    return Embeddings(IDS, np.arange(3.0 * ROWS, dtype=np.float32).reshape(ROWS, 3))


@pytest.mark.parametrize("rows", [1, 3, ROWS, 100])
def test_a_file_is_the_same_however_many_rows_are_written_at_a_time(
    rows: int, predictions: Predictions, embeddings: Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices.slices, "__defaults__", (rows,))
    for results in (predictions, embeddings):
        results.write(tmp_path / "out.csv")
        assert (tmp_path / "out.csv").read_bytes() == results.content(".csv")
        results.write(tmp_path / "out.parquet")
        assert pyarrow.parquet.read_table(tmp_path / "out.parquet").equals(results.table())


def test_nothing_is_a_header(predictions: Predictions, tmp_path: Path) -> None:
    predictions.slice(0, 0).write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == 'id,"a\nname",class,p(yes)\n'


def test_a_folder_of_parts(predictions: Predictions, tmp_path: Path) -> None:
    model, data, folder = tmp_path / "model.safetensors", tmp_path / "nodes.csv", tmp_path / "parts"
    model.write_text("weights")
    data.write_text("id\n")
    job = PartJob(kind="predict", ending=".parquet", rows=3)
    assert write_whole(model, predictions, [data], folder, job, {"inputs": True}) == 3
    files = sorted(folder.glob("part-*.parquet"))
    found = pa.concat_tables([pyarrow.parquet.read_table(file) for file in files])
    assert found.equals(predictions.table())
    files[1].unlink()
    times = [file.stat().st_mtime_ns for file in (files[0], files[2])]
    assert write_whole(model, predictions, [data], folder, job, {"inputs": True}) == 3
    assert [file.stat().st_mtime_ns for file in (files[0], files[2])] == times
    assert files[1].is_file()
    data.write_text("id\nother\n")
    with pytest.raises(InputError, match="its parts were made from another input"):
        write_whole(model, predictions, [data], folder, job, {"inputs": True})
