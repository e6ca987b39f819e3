"""Parts on a real cluster of this machine: the same file, also where a worker cannot read the input."""

import sys
from pathlib import Path
from typing import Any

import pytest

from deepergcn.data.molecules.rows import open_rows
from deepergcn.errors import InputError
from deepergcn.inference.parts.folder import PartJob
from deepergcn.inference.parts.on_ray import _reason, pack, unpack
from deepergcn.inference.parts.write import write_file, write_parts
from deepergcn.inference.predictor import load
from tests.inference.parts.test_write import alike, rows_of
from tests.training.trained import make_run, molecule_file, small_recipe, write_lines


@pytest.mark.filterwarnings("ignore")  # Ray warns of its own defaults
def test_a_cluster_makes_the_same_file(tmp_path: Path, ray_cluster: Any) -> None:
    run = make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"]))
    data = write_lines(tmp_path / "new.csv", "name,smiles", *(f"m{i},{'C' * (i + 1)}" for i in range(9)), "bad,C1")
    job, model = PartJob(kind="predict", ending=".csv", rows=3), load(run)
    write_file(run, model, data, tmp_path / "here.csv", job)
    node = ray_cluster.add_node(num_cpus=1)
    try:
        written = write_parts(run, model, data, tmp_path / "there", job, ray=ray_cluster.address)
    finally:
        ray_cluster.remove_node(node)
    assert (written.made, written.rows, written.skipped) == (4, 10, 1)
    assert write_parts(run, model, data, tmp_path / "there", job, ray="none is needed").made == 0
    alike(rows_of(*sorted((tmp_path / "there").glob("*.csv"))), rows_of(tmp_path / "here.csv"))


def test_the_reason_is_one_line() -> None:
    lost = RuntimeError("a worker\nwas   lost")
    assert _reason(lost) == "a worker was lost"
    lost.cause = InputError("m.csv: row 11 has 3 columns; expected 2")  # type: ignore[attr-defined]  # as Ray keeps it
    assert _reason(lost) == "m.csv: row 11 has 3 columns; expected 2"


@pytest.mark.parametrize("name", ["m.csv", "m.sdf"])
def test_rows_on_their_way(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("smiles,id\nC,a\nCC,b\n" if name == "m.csv" else "t\n\n\n  0  0\nM  END\n> <p>\n1\n\n$$$$\n" * 2)
    rows = open_rows(path, None, None)
    again = unpack(pack(rows), path, rows.smiles_column, None)
    assert (again.texts, again.names, again.form) == (rows.texts, rows.names, rows.form)
    assert again.table.columns() == rows.table.columns()


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"]))
    job = PartJob(kind="predict", ending=".csv", rows=3)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"--ray needs the package ray; install the extra: .*deepergcn\[ray\]"):
        write_parts(run, load(run), tmp_path / "classes.csv", tmp_path / "out", job, ray="auto")
