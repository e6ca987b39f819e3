"""How a run is shown while it goes on: a bar on a terminal, a line an epoch elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from deepergcn.runs.callbacks import Reporter
from deepergcn.runs.run import Row, Run
from deepergcn.runs.state import Progress as State


class Lines(Reporter):
    """A line when a run starts, and one an epoch."""

    def started(self, run: Run, progress: State, steps: int) -> None:
        info, recipe = run.info, run.recipe
        self.epochs, self.metric = recipe.training.epochs, info.inputs.task.metric
        typer.echo(
            f"{recipe.name}: {recipe.model.network} with {recipe.model.num_layers} layers and {info.parameters:,} "
            f"parameters on {info.dataset}, seed {info.seed}, in {run.path}"
        )
        if progress.epoch or progress.step:
            typer.echo(f"goes on after epoch {progress.epoch}" + (f", step {progress.step}" if progress.step else ""))

    def ended_epoch(self, row: Row, layers: Sequence[Row], progress: State) -> None:
        typer.echo(f"epoch {progress.epoch}/{self.epochs}  {self.told(row, progress)}  {row['seconds']:.1f} s")

    def told(self, row: Row, progress: State) -> str:
        """Loss, validation score and best so far."""
        parts = [f"loss {row['train_loss']:.4f}"]
        if row["valid_score"] is not None:
            parts.append(f"valid {self.metric} {row['valid_score']:.4f}")
        if progress.best is not None and progress.best.valid_score is not None:
            parts.append(f"best {progress.best.valid_score:.4f} at epoch {progress.best.epoch}")
        return "  ".join(parts)


class Bar(Lines):
    """A bar over all steps, with loss, validation score, best so far and the time left."""

    def __init__(self) -> None:
        self.bar: Progress | None = None

    def started(self, run: Run, progress: State, steps: int) -> None:
        super().started(run, progress, steps)
        columns: tuple[Any, ...] = (
            TextColumn("epoch {task.fields[epoch]}/{task.fields[epochs]}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[told]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.steps = steps
        self.bar = Progress(*columns, console=Console(), refresh_per_second=4)
        self.task = self.bar.add_task(
            "train", total=self.epochs * steps, completed=self._done(progress), epoch=0, epochs=self.epochs, told=""
        )
        self.bar.start()

    def stepped(self, epoch: int, step: int, loss: float) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=(epoch - 1) * self.steps + step, epoch=epoch)

    def ended_epoch(self, row: Row, layers: Sequence[Row], progress: State) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=self._done(progress), told=self.told(row, progress))

    def left(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _done(self, progress: State) -> int:
        return progress.epoch * self.steps + progress.step


def reporter() -> Lines:
    """The one that fits where the output goes."""
    return Bar() if Console().is_terminal else Lines()


@contextmanager
def molecule_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Who is told how many molecules have been read: a bar on a terminal, gone afterwards; nobody elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("molecules"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("molecules", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
