"""A run takes as many threads as its batches have work for, unless the user or the run that is resumed decides."""

from pathlib import Path
from typing import Any

import pytest
import torch

from deepergcn.recipes.load import load_recipe
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.dataset import load_data
from deepergcn.runs.environment import Environment
from deepergcn.runs.run import Run, RunInfo
from deepergcn.studies.cells import Cell, Setup, Source
from deepergcn.studies.pool import run_cell
from deepergcn.studies.schema import StudyColumn, depth_row
from deepergcn.training import loop
from deepergcn.training import train as training
from deepergcn.training.cost.sizes import whole_graph
from deepergcn.training.cost.threads import NUMBERS, choose_threads, training_batch, worthwhile_threads
from deepergcn.training.forests import blend
from deepergcn.training.forests.fit import fit_forest
from deepergcn.training.processes.distributed import with_threads
from deepergcn.training.train import plan_cost, train
from tests.training.small import molecule_settings, molecules, network, network_settings, repeatable


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Torch has two threads, and the user has not said how many."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with with_threads(2):
        yield


class Noted(Callback):
    """The lines about threads before a run, and the numbers of threads that its steps had."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.threads: set[int] = set()

    def on_plan(self, line: str) -> None:
        self.lines += [line] if line.startswith("threads ") else []

    def on_step_end(self, epoch: int, step: int, loss: float) -> None:
        self.threads.add(torch.get_num_threads())


def recorded(run: Run) -> int:
    assert run.info.environment is not None
    return run.info.environment.threads


def record(folder: Path, threads: int) -> None:
    """Let the run in a folder have been started with this number of threads."""
    run = Run.open(folder)
    known = run.info.environment
    assert known is not None
    changed = Environment(**(known.model_dump() | {"threads": threads}))
    Run.create(folder, run.recipe, RunInfo(**(dict(run.info) | {"environment": changed})))


def test_one_thread_for_every_so_many_numbers_within_those_available() -> None:
    assert [worthwhile_threads(count, 8) for count in (0, 1, NUMBERS, 2 * NUMBERS - 1)] == [1, 1, 1, 1]
    assert [worthwhile_threads(count * NUMBERS, 8) for count in (2, 3, 8, 9, 1000)] == [2, 3, 8, 8, 8]
    assert worthwhile_threads(1000 * NUMBERS, 1) == 1


def test_batches_of_graphs_are_their_share_of_all_graphs(tmp_path: Path) -> None:
    path = molecules(tmp_path)
    for size, processes, share in ((6, 1, 6 / 39), (6, 2, 3 / 39), (1000, 1, 1)):
        recipe = load_recipe("solubility", molecule_settings(path, f"training.batch_size={size}"))
        dataset = load_data(recipe)
        found, whole = training_batch(recipe, dataset, processes), whole_graph(dataset)
        assert len(dataset) in (39, 40)
        share = share * 39 / len(dataset) if share < 1 else share
        assert found == pytest.approx((whole.nodes * share, whole.edges * share), abs=0.5)


@pytest.mark.parametrize(
    ("settings", "edges"),
    [(["training.partitions=1"], 1), ([], 1 / 16), (["training.partitioning=metis"], 1 / 4)],
)
def test_batches_of_a_network_are_its_parts(tmp_path: Path, settings: list[str], edges: float) -> None:
    recipe = load_recipe("yeast-proteins", network_settings(network(tmp_path), *settings))
    dataset = load_data(recipe)
    found, whole = training_batch(recipe, dataset), whole_graph(dataset)
    assert found.nodes == whole.nodes / recipe.training.partitions
    assert found.edges == pytest.approx(whole.edges * edges, abs=1)


def test_wide_layers_and_large_batches_have_work_for_more(tmp_path: Path) -> None:
    path = molecules(tmp_path)
    found = []
    for channels in (8, 1 << 10, 1 << 14):
        recipe = load_recipe("solubility", molecule_settings(path, f"model.hidden_channels={channels}"))
        found.append(choose_threads(recipe, load_data(recipe), 4))
    assert found[0] == 1
    assert found == sorted(found)
    assert found[-1] == 4


def test_a_small_run_takes_one_thread_says_so_and_records_it(tmp_path: Path) -> None:
    noted = Noted()
    run = train("solubility", settings=molecule_settings(molecules(tmp_path)), out=tmp_path / "run", callbacks=[noted])
    assert noted.threads == {1}
    assert noted.lines == ["threads   1 of 2, the batches are too small for more; OMP_NUM_THREADS=2 uses all"]
    assert recorded(run) == 1
    assert torch.get_num_threads() == 2  # as before


def test_threads_are_restored_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: loop.Loop) -> None:
        assert torch.get_num_threads() == 1
        raise RuntimeError("broken")

    monkeypatch.setattr(loop.Loop, "fit", broken)
    with pytest.raises(RuntimeError, match="broken"):
        train("solubility", settings=molecule_settings(molecules(tmp_path)), out=tmp_path / "run")
    assert torch.get_num_threads() == 2


def test_the_user_decides_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=1")
    given = Noted()
    assert recorded(train("solubility", settings=settings, out=tmp_path / "given", callbacks=[given], threads=2)) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    noted = Noted()
    run = train("solubility", settings=settings, out=tmp_path / "run", callbacks=[noted])
    assert recorded(run) == 2
    for seen in (given, noted):
        assert seen.threads == {2}
        assert not seen.lines


@pytest.mark.parametrize("threads", [1, 2])
def test_a_resumed_run_keeps_its_number(threads: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=2")
    whole = train("solubility", settings=settings, out=tmp_path / "whole", threads=threads)
    train("solubility", settings=settings, epochs=1, out=tmp_path / "run", threads=threads)
    noted = Noted()
    run = train(resume=True, epochs=2, out=tmp_path / "run", callbacks=[noted])
    assert noted.threads == {threads}
    assert noted.lines == (
        ["threads   1 of 2, as the run was started with; OMP_NUM_THREADS=2 uses all"] if threads == 1 else []
    )
    assert recorded(run) == threads
    assert repeatable(run) == repeatable(whole)
    assert not caplog.records


def test_a_resumed_run_says_that_it_has_fewer_threads(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=1")
    train("solubility", settings=settings, out=tmp_path / "run")
    record(tmp_path / "run", 77)
    noted = Noted()
    train(resume=True, epochs=2, out=tmp_path / "run", callbacks=[noted])
    assert noted.threads == {2}
    assert "threads 77 (now 2)" in caplog.text


def test_a_forest_grows_on_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def fit(*given: Any) -> Any:
        seen.append(torch.get_num_threads())
        return fit_forest(*given)

    monkeypatch.setattr(blend, "fit_forest", fit)
    more = ["data.descriptors=[morgan]", "blend={model: forest, trees: 4}", "training.epochs=1"]
    noted = Noted()
    train("solubility", settings=molecule_settings(molecules(tmp_path), *more), out=tmp_path / "run", callbacks=[noted])
    assert (noted.threads, seen) == ({1}, [2])


def test_a_cell_of_a_study_keeps_the_number_that_it_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    column = StudyColumn(name="max", label="max")
    cell = Cell(Setup(depth_row(3), column, Source("solubility"), ()), 0, tmp_path / "cell")
    given: list[dict[str, Any]] = []
    monkeypatch.setattr(training, "train", lambda *names, **options: given.append(options))
    run_cell(cell, 2)
    assert [options["threads"] for options in given] == [2]


def test_a_plan_is_measured_with_the_threads_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "estimate", lambda *given: torch.get_num_threads())
    assert plan_cost("solubility", settings=molecule_settings(molecules(tmp_path))) == 1  # type: ignore[comparison-overlap]
    assert torch.get_num_threads() == 2
