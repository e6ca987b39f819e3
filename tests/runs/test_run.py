"""The run directory."""

import json
import os
from pathlib import Path

import pytest

from deepergcn.data.provenance import TableProvenance
from deepergcn.errors import InputError
from deepergcn.runs.run import METRIC_COLUMNS, Run, read_rows
from tests.training.trained import make_run, small_recipe, table_files


def test_a_run_of_an_older_version_opens(tmp_path: Path) -> None:
    folder = make_run(tmp_path, small_recipe(*table_files(tmp_path), label="y"))
    values = json.loads((folder / "run.json").read_text())
    values["source"] = {**values.pop("provenance"), "metric": None}
    (folder / "run.json").write_text(json.dumps(values))
    assert isinstance(Run.open(folder).info.provenance, TableProvenance)
    values["source"] = {}
    (folder / "run.json").write_text(json.dumps(values))
    assert Run.open(folder).info.provenance is None
    values["source"] = {"reader": "tables", "features": [3]}
    (folder / "run.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match=r"run\.json: source\.tables\."):
        Run.open(folder)


@pytest.mark.parametrize(
    ("before", "place"), [("", "the header"), (",".join(METRIC_COLUMNS) + "\n1,,,,,,,,,\n", "row 2")]
)
def test_a_cell_too_long_for_a_number_is_named_by_its_row(tmp_path: Path, before: str, place: str) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(before + "1" * 200_000 + "\n")
    with pytest.raises(InputError, match=rf"metrics\.csv: {place} cannot be read \(field larger"):
        read_rows(path, METRIC_COLUMNS)


def test_a_folder_of_several_runs_names_one_of_them(tmp_path: Path) -> None:
    run = make_run(tmp_path, small_recipe(*table_files(tmp_path), label="y"))
    (tmp_path / "runs").mkdir()
    run.rename(tmp_path / "runs" / "seed-3")
    with pytest.raises(InputError, match=r"runs: has several runs; expected one of them, such as .*seed-3"):
        Run.open(tmp_path / "runs")


@pytest.mark.parametrize("name", ["run.json", "recipe.yaml", "metrics.csv"])
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_never_waited_for(name: str, tmp_path: Path) -> None:
    folder = make_run(tmp_path, small_recipe(*table_files(tmp_path), label="y"))
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match=rf"{name}: is not a regular file"):
        Run.open(folder).metrics()
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match=rf"{name}: is not a regular file"):
        Run.open(folder).metrics()
