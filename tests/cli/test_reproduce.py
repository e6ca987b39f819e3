"""``deepergcn reproduce`` and ``deepergcn report``, as typed."""

import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deepergcn.studies.schema import study_names
from tests.cli.program import Program
from tests.studies.grids import SMALL, small_study
from tests.training.small import network, start


@pytest.fixture(scope="module")
def _processes() -> None:
    """Start the server of processes with every kernel loaded."""
    start(time.sleep, 0).join()


@pytest.fixture
def deepergcn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return Program(monkeypatch, capsys)


def test_without_a_study_all_are_listed(deepergcn: Program) -> None:
    answer = deepergcn("reproduce")
    assert answer.code == 0, answer.err
    assert [line.split()[0] for line in answer.out.splitlines()[2:-1]] == list(study_names())


@pytest.mark.usefixtures("_processes")
def test_a_study_is_planned_run_and_reported(deepergcn: Program, tmp_path: Path) -> None:
    small_study(tmp_path)
    words = ["small.yaml", "--data", network(tmp_path), "--recipe", "yeast-proteins", "--layers", "1", "--out", "out"]
    words += [word for setting in SMALL for word in ("--set", setting)]
    planned = deepergcn("reproduce", *words, "--dry-run", "--jobs", 2)
    assert planned.code == 0, planned.err
    lines = [line.split()[:3] for line in planned.out.splitlines()]
    assert ["cell", "seeds", "epochs"] in lines
    assert [line for line in lines if line[0].endswith("/layers-1")] == [
        ["plain/layers-1", "1", "2"],
        ["res+/layers-1", "1", "2"],
    ]
    assert "2 cells to train: " in planned.out
    assert not Path("out").exists()
    done = deepergcn("reproduce", *words, "--jobs", 2)
    assert done.code == 0, done.err
    assert "plain/layers-1/seed-0: test rocauc 0." in done.out
    assert done.out.endswith("study out: 2 of 2 cells finished\n")
    report = deepergcn("report", "out", "--results", "results")
    assert report.code == 0, report.err
    assert report.out.splitlines() == ["out/report.html", "results/small.csv"]
    (hostile := Path("hostile")).mkdir()
    (hostile / "study.json").write_text(Path("out/study.json").read_text().replace('"small"', '"../small"', 1))
    refused = deepergcn("report", "hostile", "--results", "results/more")
    assert refused.err.startswith("error: hostile/study.json: name: String should match pattern ")
    assert deepergcn("report", "out", "--output", "data.csv").err == (
        "error: --output is data.csv; expected a name that ends in .html\n"
    )
    single = deepergcn("report", "out/plain/layers-1/seed-0", "--out", "run.html")
    assert single.code == 0, single.err
    assert "ROC, test part" in Path("run.html").read_text()


def test_planning_takes_as_much_for_every_further_seed(deepergcn: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepergcn.studies.estimate.load_data", lambda recipe: None)
    monkeypatch.setattr("deepergcn.studies.estimate.estimate", lambda recipe, dataset: SimpleNamespace(run=60.0))

    def calls(seeds: int) -> int:
        """How many functions are called to plan this number of seeds."""
        events: Counter[str] = Counter()

        def count(frame: object, event: str, argument: Any) -> None:
            events[event] += 1

        sys.setprofile(count)
        try:
            planned = deepergcn("reproduce", "table-1", "--layers", "3,7", "--seeds", seeds, "--dry-run", "--jobs", 1)
        finally:
            sys.setprofile(None)
        assert planned.out.splitlines()[-1].startswith(f"{18 * seeds} cells to train: "), planned.err
        return events["call"] + events["c_call"]

    calls(1)  # imports what it needs
    few, more, most = calls(10), calls(20), calls(30)
    assert most - more < 1.1 * (more - few)
    assert more - few < 10 * 18 * 1_000  # to resolve a recipe takes several thousand


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table-1", "--layers", "3,x"], "--layers is 3,x; expected numbers"),
        (["table-1", "--jobs", "2", "--ray", "auto"], "--jobs: cannot be combined with --ray"),
        (["table-0"], "table-0: is neither a study's name"),
        (["table-5", "--recipe", "solubility"], "--recipe: every row of table-5 has its own recipe"),
    ],
)
def test_what_cannot_be_run_is_one_line(deepergcn: Program, words: list[str], message: str) -> None:
    answer = deepergcn("reproduce", *words)
    assert answer.code == 2
    assert answer.err.startswith(f"error: {message}")
    assert answer.err.count("\n") == 1
