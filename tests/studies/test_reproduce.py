"""A study: every cell a run directory, kept when it has ended, resumed when it was stopped, failed with its reason."""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.report.study import read_study, write_study
from deepergcn.runs.lock import locked
from deepergcn.runs.run import Run
from deepergcn.studies.cells import Cell, Grid
from deepergcn.studies.estimate import estimate_cells
from deepergcn.studies.pool import Stopped
from deepergcn.studies.reproduce import make_plan, reproduce, reuse_runs
from deepergcn.studies.schema import load_study
from tests.studies.grids import SMALL, small_plan, small_study
from tests.training.small import network, repeatable, start


@pytest.fixture(autouse=True, scope="module")
def _processes() -> None:
    """Start the server of processes with every kernel loaded."""
    start(time.sleep, 0).join()


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))


def test_every_cell_becomes_a_run_directory_and_is_kept_and_reused(tmp_path: Path) -> None:
    plan = small_plan(tmp_path)
    changes: list[tuple[str, str]] = []
    table = reproduce(plan, jobs=2, watcher=lambda cell, state, reason: changes.append((cell.name, state)))
    assert [run.state for run in table.runs] == ["finished"] * 4
    assert read_study(plan.folder) == table
    for cell in plan.cells:
        run = Run.open(cell.folder)
        assert (run.recipe, run.info.seed) == (cell.recipe, cell.seed)
        assert run.recipe.model.num_layers == cell.row.layers
        assert {(cell.name, "running"), (cell.name, "finished")} <= set(changes)
    changes.clear()
    reproduce(small_plan(tmp_path), watcher=lambda cell, state, reason: changes.append((cell.name, state)))
    assert changes == []
    grid = Grid(layers=[2], seeds=2, settings=SMALL)
    data = str(tmp_path / "network")
    other = make_plan(small_study(tmp_path), grid, recipe="yeast-proteins", data=data, out=tmp_path / "other")
    assert reuse_runs(other, [plan.folder]) == 2
    assert [cell.seed for cell in other.unfinished()] == [1, 1]


def test_seeds_are_added_to_those_of_an_earlier_call(tmp_path: Path) -> None:
    reproduce(small_plan(tmp_path, layers=[1], columns=["plain"]))
    plan = small_plan(tmp_path, layers=[1], columns=["plain"], seeds=2, first_seed=1)
    assert [cell.name for cell in plan.unfinished()] == ["plain/layers-1/seed-1", "plain/layers-1/seed-2"]
    assert [run.seed for run in plan.table.runs] == [0, 1, 2]


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    plan = small_plan(tmp_path, layers=[1])
    write_text(plan.cells[0].folder / "run.json", "{}")
    table = reproduce(plan)
    assert [run.state for run in table.runs] == ["failed", "finished"]
    assert "run.json" in table.runs[0].reason


def test_a_folder_with_another_run_is_not_taken_for_the_cell(tmp_path: Path) -> None:
    reproduce(small_plan(tmp_path, layers=[1], columns=["plain"]))
    table = reproduce(small_plan(tmp_path, layers=[1], columns=["plain"], settings=["model.dropout=0.3"]))
    assert table.runs[0].state == "failed"
    assert "has a run with model.dropout 0.1, not 0.3" in table.runs[0].reason


def test_a_stopped_study_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepergcn.studies.pool._LOOK", 0.02)  # long before the cell has ended by itself
    settings = ["training.epochs=100"]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    for folder in (whole, stopped):
        folder.mkdir()
    reproduce(small_plan(whole, layers=[2], columns=["plain"], settings=settings))
    plan = small_plan(stopped, layers=[2], columns=["plain"], settings=settings)

    def stop() -> None:
        if (plan.cells[0].folder / "metrics.csv").exists():
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Stopped):
        reproduce(plan, look=stop)
    assert not (plan.cells[0].folder / "summary.json").exists()
    assert read_study(plan.folder).runs[0].state == "waiting"
    reproduce(plan)
    first, second = (
        repeatable(Run.open(folder / "out" / "plain" / "layers-2" / "seed-0")) for folder in (whole, stopped)
    )
    assert first == second


def _reproduce(folder: Path) -> None:
    reproduce(small_plan(folder, layers=[2], columns=["plain"], settings=["training.epochs=100000"]))


def test_the_processes_of_a_killed_study_stop(tmp_path: Path) -> None:
    process = start(_reproduce, tmp_path)
    run = tmp_path / "out" / "plain" / "layers-2" / "seed-0"
    while not (run / "metrics.csv").exists():
        time.sleep(0.05)
    process.kill()
    process.join()
    for _ in range(600):
        with contextlib.suppress(InputError), locked(run):
            return
        time.sleep(0.05)
    pytest.fail("the run goes on without its study")


def test_another_dataset_is_told_with_all_that_was_fitted_to_it(tmp_path: Path) -> None:
    plan = make_plan(load_study("table-1"), Grid(layers=[3]), data=str(network(tmp_path)), out=tmp_path / "out")
    told = " | ".join(plan.table.fitted)
    assert "without the transform one-hot-species" in told
    assert "model.node_encoder auto instead of species" in told
    assert "training.partitions 1 instead of 10 (60 nodes)" in told
    assert "evaluation.partitions 1 instead of 5 (60 nodes)" in told
    assert "4 outputs, multi-label, scored by rocauc" in told
    times = estimate_cells(plan.cells[:2])
    assert set(times) == {cell.name for cell in plan.cells[:2]}
    assert all(seconds > 0 for seconds in times.values())


def test_the_recipe_of_a_dataset_is_taken_where_there_is_one(tmp_path: Path) -> None:
    data = network(tmp_path).rename(tmp_path / "yeast_proteins")
    plan = make_plan(load_study("table-1"), Grid(layers=[3]), data=str(data), out=tmp_path / "out")
    assert plan.table.recipe == "yeast-proteins"
    assert plan.table.fitted == ("recipe yeast-proteins, which is made for this dataset, instead of ogbn-proteins",)
    cell: Cell = plan.cells[0]
    assert cell.recipe.data.source == str(data)
    assert cell.command().startswith(f"deepergcn train yeast-proteins --data {data} --set model.num_layers=3 ")


def test_rows_that_are_tasks_are_chosen_by_their_dataset(tmp_path: Path) -> None:
    plan = make_plan(load_study("table-5"), Grid(), data="ogbg-molhiv", out=tmp_path / "out")
    assert [row.name for row in plan.table.rows] == ["ogbg-molhiv"]
    assert len(plan.cells) == 7
    with pytest.raises(InputError, match="no row of table-5 has this dataset"):
        make_plan(load_study("table-5"), Grid(), data="solubility", out=tmp_path / "out")


def test_a_plan_resolves_a_recipe_once_for_all_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = []

    def note(*given: Any) -> Any:
        resolved.append(given)
        return load_recipe(*given)

    monkeypatch.setattr("deepergcn.studies.cells.load_recipe", note)
    plan = make_plan(load_study("table-1"), Grid(layers=[3, 7], seeds=30), out=tmp_path / "out")
    assert len(plan.cells) == 30 * 2 * 9
    assert len(resolved) == 2 * 9


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (Grid(layers=[0]), "--layers is 0; expected at least 1"),
        (Grid(columns=["GAT"]), "--columns: there is no GAT; expected one or more of PlainGCN-sum"),
        (Grid(rows=["layers-4"]), "--rows: there is no layers-4"),
    ],
)
def test_cells_that_there_are_not_are_refused(grid: Grid, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        make_plan(load_study("table-1"), grid, out=tmp_path / "out")


def test_a_folder_holds_one_study(tmp_path: Path) -> None:
    for grid in ({"layers": [1], "columns": ["plain"]}, {"layers": [2], "columns": ["res+"]}):
        plan = small_plan(tmp_path, **grid)
        write_study(plan.folder, plan.table)
    table = read_study(tmp_path / "out")
    assert [row.name for row in table.rows] == ["layers-1", "layers-2"]
    assert [column.name for column in table.columns] == ["plain", "res+"]
    assert [run.folder for run in table.runs] == ["plain/layers-1/seed-0", "res+/layers-2/seed-0"]
    with pytest.raises(InputError, match="has the study small of recipe yeast-proteins on network"):
        make_plan(load_study("table-1"), Grid(), out=tmp_path / "out")
