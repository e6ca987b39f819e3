"""Studies on a Ray cluster: the same scores as without it, also when a node is lost half way."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deepergcn.errors import InputError
from deepergcn.runs.run import Run
from deepergcn.studies import ray_pool, seeds
from deepergcn.studies.pool import log_of, run_cell
from deepergcn.studies.ray_pool import RayTask, run_on_ray, work_on_node
from deepergcn.studies.reproduce import reproduce
from deepergcn.studies.seeds import train_runs
from tests.studies.grids import small_plan
from tests.training.small import molecule_settings, molecules, repeatable


def test_a_node_that_is_lost_half_way_changes_no_score(tmp_path: Path, ray_cluster: Any) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    settings = ["training.epochs=60"]
    plan = small_plan(there, layers=[1], settings=settings)
    killed: list[int] = []

    def kill_when_both_train() -> None:
        epochs = [cell.folder / "metrics.csv" for cell in plan.cells]
        if not killed and all(file.exists() and len(file.read_text().splitlines()) > 1 for file in epochs):
            killed.append(sum((cell.folder / "summary.json").exists() for cell in plan.cells))
            ray_cluster.remove_node(lost, allow_graceful=False)

    lost = ray_cluster.add_node(num_cpus=1)
    table = reproduce(plan, ray=ray_cluster.address, look=kill_when_both_train)
    assert killed == [0]  # both were under way
    assert [run.state for run in table.runs] == ["finished", "finished"], [run.reason for run in table.runs]
    assert not list(there.rglob(".ray-*"))
    for cell, same in zip(small_plan(here, layers=[1], settings=settings).cells, plan.cells, strict=True):
        run_cell(cell, threads=1)
        assert repeatable(Run.open(same.folder)) == repeatable(Run.open(cell.folder))


def go_on(folder: Path) -> None:
    """Work that counts how often it was done, and says so."""
    state = folder / "state" / "count"
    done = int(state.read_text()) if state.exists() else 0
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(str(done + 1))
    print(f"{done + 1} in {folder}")  # noqa: T201, it goes to the log
    if done == 1:
        raise InputError("twice is too often")


def test_a_node_that_does_not_see_the_disk_sends_the_files_back(tmp_path: Path) -> None:
    task = RayTask("run", tmp_path / "run", go_on)
    first = work_on_node(task, 1, tmp_path / "no mark", "/", {})
    assert (first.code, first.files) == (0, {"state/count": b"1"})
    assert not task.folder.exists()
    answers = iter([first, work_on_node(task, 1, tmp_path / "no mark", "/", first.files or {})])
    ray = SimpleNamespace(get=lambda _: next(answers), exceptions=SimpleNamespace(RayError=RuntimeError))
    assert ray_pool._ended(ray, None, task, stopped=False) == (task, "finished", "")
    assert (task.folder / "state" / "count").read_text() == "1"
    assert ray_pool._ended(ray, None, task, stopped=False) == (task, "failed", "twice is too often")
    assert (task.folder / "state" / "count").read_text() == "2"
    assert log_of(task.folder).read_text().startswith("2 in ")


def test_a_node_that_sees_the_disk_works_in_the_run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # and back, since the work goes elsewhere
    with ray_pool._marked(tmp_path) as mark:
        answer = work_on_node(RayTask("run", tmp_path / "run", go_on), 1, mark, os.getcwd(), {})
    assert answer == (0, b"", None)
    assert (tmp_path / "run" / "state" / "count").read_text() == "1"
    assert not mark.exists()


def test_seeds_have_the_same_scores_as_without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_ray(
        tasks: Sequence[RayTask], address: str, root: Path, threads: int, changed: Callable[[RayTask, str, str], None]
    ) -> None:
        assert (address, threads, root) == ("auto", 3, tmp_path / "ray")
        for task in reversed(tasks):
            task.work(task.folder)
            changed(task, "finished", "")

    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(seeds, "run_on_ray", on_ray)
    settings = molecule_settings(molecules(tmp_path), "training.epochs=1")
    _, expected = train_runs(2, "solubility", settings=settings, out=tmp_path / "here")
    told: list[tuple[str, str]] = []
    folder, found = train_runs(
        2,
        "solubility",
        settings=settings,
        out=tmp_path / "ray",
        ray="auto",
        threads=3,
        watcher=lambda name, state: told.append((name, state)),
    )
    assert found == expected
    assert folder == tmp_path / "ray"
    assert told == [("seed-1", "finished"), ("seed-0", "finished")]


def test_a_seed_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "run_on_ray", lambda tasks, *others: others[-1](tasks[1], "failed", "no memory"))
    with pytest.raises(InputError, match="1 of 2 seeds failed; seed-1: no memory"):
        train_runs(2, "solubility", out=tmp_path / "runs", ray="auto")
    assert not (tmp_path / "runs").exists()


def test_the_largest_node_must_have_the_threads() -> None:
    nodes = [{"Alive": True, "Resources": {"CPU": 5.0}}, {"Alive": False, "Resources": {"CPU": 64.0}}]
    ray = SimpleNamespace(nodes=lambda: nodes)
    assert ray_pool._slots(ray, 2) == 2
    with pytest.raises(InputError, match="--threads is 8; the largest node of the cluster has 5 CPUs"):
        ray_pool._check_threads(ray, 8)


def test_without_ray_or_without_a_cluster_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = SimpleNamespace(is_initialized=lambda: False)

    def init(**_: object) -> None:
        raise ConnectionError("Could not find any running Ray instance.\nAnd more.")

    ray.init = init
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(
        InputError, match=r"^--ray auto: no Ray cluster answers at this address \(Could not find any running"
    ):
        run_on_ray([], "auto", tmp_path, 1, lambda *_: None)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"--ray needs the package ray; install the extra: .*deepergcn\[ray\]"):
        run_on_ray([], "auto", tmp_path, 1, lambda *_: None)
