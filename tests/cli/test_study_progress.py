"""The live table of a study: what runs, what has ended and why, and how many epochs are done."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from deepergcn.cli.study_progress import StudyLines, StudyLive, study_progress
from deepergcn.data.storage.files import write_text
from tests.studies.grids import small_plan


def shown(live: StudyLive) -> list[str]:
    console = Console(width=100, record=True, file=StringIO())
    console.print(live.live.renderable)
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_the_live_table_has_the_cells_that_run_or_have_ended(tmp_path: Path) -> None:
    first, second, *others = small_plan(tmp_path).cells
    live = StudyLive([first, second, *others])
    assert shown(live)[1] == "4 waiting"
    live.changed(first, "running", "")
    write_text(first.folder / "metrics.csv", "epoch,loss\n1,0.5\n")
    live.changed(second, "failed", "[Errno 28] No space left")
    lines = shown(live)
    assert lines[1:4] == [
        f"{first.name} running 1/2",
        f"{second.name} failed: [Errno 28] No space left 0/2",
        "2 waiting",
    ]
    assert "1/8" in lines[4]  # epochs of all four cells
    live.changed(first, "waiting", "")
    assert shown(live)[2] == "3 waiting"


def test_elsewhere_than_on_a_terminal_every_change_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (cell,) = small_plan(tmp_path, layers=[1], columns=["plain"]).cells
    lines = study_progress([cell])
    assert type(lines) is StudyLines
    with lines:
        lines.changed(cell, "running", "")
        lines.look()
        lines.changed(cell, "failed", "no memory")
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"{cell.name}: started"
    assert out[1].startswith(f"{cell.name}: failed: no memory  ")
    assert out[1].endswith("(1 of 1)")
