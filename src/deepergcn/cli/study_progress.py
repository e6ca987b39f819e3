"""Progress of a study: a live table and one bar on a terminal, one line per change elsewhere."""

import time
from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from deepergcn.cli.terminal import say
from deepergcn.runs.run import Run
from deepergcn.studies.cells import Cell

_STYLES = {"finished": "green", "failed": "red", "running": "cyan"}


class StudyLines:
    """A line for every cell that starts, ends or fails."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.total, self.done = len(cells), 0
        self.started: dict[str, float] = {}

    def __enter__(self) -> "StudyLines":
        return self

    def __exit__(self, *_: object) -> None:
        """Close the display."""

    def changed(self, cell: Cell, state: str, reason: str) -> None:
        """Show the new state of a cell."""
        if state == "running":
            self.started[cell.name] = time.monotonic()
            say(f"{cell.name}: started")
            return
        self.done += state in ("finished", "failed")
        seconds = time.monotonic() - self.started[cell.name]
        say(f"{cell.name}: {told(cell, state, reason)}  {seconds:.0f} s  ({self.done} of {self.total})")

    def look(self) -> None:
        """Refresh the display as time passes."""


class StudyLive(StudyLines):
    """A table of the cells that run or have ended, and a bar over all epochs."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        super().__init__(cells)
        self.states = {cell.name: (cell, "waiting", "") for cell in cells}
        self.bar = Progress(
            TextColumn("epochs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        )
        self.task = self.bar.add_task("epochs", total=sum(cell.recipe.training.epochs for cell in cells))
        self.live = Live(self._render(), console=Console(), refresh_per_second=2)

    def __enter__(self) -> "StudyLive":
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.look()
        self.live.stop()

    def changed(self, cell: Cell, state: str, reason: str) -> None:
        self.states[cell.name] = (cell, state, reason)
        self.look()

    def look(self) -> None:
        epochs = {name: epochs_done(cell) for name, (cell, state, _) in self.states.items() if state != "waiting"}
        self.bar.update(self.task, completed=sum(epochs.values()))
        self.live.update(self._render(epochs))

    def _render(self, epochs: dict[str, int] | None = None) -> Group:
        table = Table("cell", "state", "epoch", box=None, pad_edge=False)
        shown = [entry for entry in self.states.values() if entry[1] != "waiting"]
        for cell, state, reason in shown[-20:]:
            done = (epochs or {}).get(cell.name, 0)
            table.add_row(
                cell.name, Text(told(cell, state, reason), _STYLES[state]), f"{done}/{cell.recipe.training.epochs}"
            )
        waiting = len(self.states) - len(shown)
        return Group(table, f"{waiting} waiting", self.bar)


def study_progress(cells: Sequence[Cell]) -> StudyLines:
    """The display for this kind of output."""
    return StudyLive(cells) if Console().is_terminal else StudyLines(cells)


def told(cell: Cell, state: str, reason: str) -> str:
    """A cell's state in words."""
    match state:
        case "finished":
            return score_of(cell)
        case "failed":
            return f"failed: {reason}"
        case "waiting":
            return "stopped, its state is saved"
    return state


def score_of(cell: Cell) -> str:
    """The score of an ended run."""
    summary = Run.open(cell.folder).summary()
    if summary is None or summary.test_score is None:
        return "nothing to score"
    return f"test {summary.metric} {summary.test_score:.4f}"


def epochs_done(cell: Cell) -> int:
    """The number of epochs in a run's log."""
    try:
        return max(len((cell.folder / "metrics.csv").read_bytes().splitlines()) - 1, 0)
    except OSError:
        return 0
