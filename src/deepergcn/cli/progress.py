"""The display of a run in progress: a progress bar on a terminal, one line per epoch elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import progress as rich
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from deepergcn.cli.terminal import say
from deepergcn.data.storage.progress import ProgressHook
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.run import Row, Run
from deepergcn.runs.state import Progress


class EpochLines(Callback):
    """Prints the estimated cost of a run, a line when it starts, and a line per epoch."""

    def on_plan(self, line: str) -> None:
        say(line)

    def on_train_start(self, run: Run, progress: Progress, steps: int) -> None:
        info, recipe = run.info, run.recipe
        self.epochs, self.metric = recipe.training.epochs, info.inputs.task.metric
        say(
            f"{recipe.name}: {recipe.model.network} with {recipe.model.num_layers} layers and {info.parameters:,} "
            f"parameters on {info.dataset}, seed {info.seed}, in {run.path}"
        )
        if progress.epoch or progress.step:
            say(f"resumed after epoch {progress.epoch}" + (f", step {progress.step}" if progress.step else ""))

    def on_epoch_end(self, metrics: Row, dynamics: Sequence[Row], progress: Progress) -> None:
        say(f"epoch {progress.epoch}/{self.epochs}  {self.scores(metrics, progress)}  {metrics['seconds']:.1f} s")

    def scores(self, metrics: Row, progress: Progress) -> str:
        """Train loss, validation score, and the best validation score so far."""
        parts = [f"loss {metrics['train_loss']:.4f}"]
        if metrics["valid_score"] is not None:
            parts.append(f"valid {self.metric} {metrics['valid_score']:.4f}")
        if progress.best is not None and progress.best.valid_score is not None:
            parts.append(f"best {progress.best.valid_score:.4f} at epoch {progress.best.epoch}")
        return "  ".join(parts)


class ProgressBar(EpochLines):
    """Shows a progress bar over all steps, with loss, validation score, best score and the remaining time."""

    def __init__(self) -> None:
        self.bar: rich.Progress | None = None

    def on_train_start(self, run: Run, progress: Progress, steps: int) -> None:
        super().on_train_start(run, progress, steps)
        columns: tuple[Any, ...] = (
            TextColumn("epoch {task.fields[epoch]}/{task.fields[epochs]}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[scores]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.steps = steps
        self.bar = rich.Progress(*columns, console=Console(), refresh_per_second=4)
        self.task = self.bar.add_task(
            "train", total=self.epochs * steps, completed=self._done(progress), epoch=0, epochs=self.epochs, scores=""
        )
        self.bar.start()

    def on_step_end(self, epoch: int, step: int, loss: float) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=(epoch - 1) * self.steps + step, epoch=epoch)

    def on_epoch_end(self, metrics: Row, dynamics: Sequence[Row], progress: Progress) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=self._done(progress), scores=self.scores(metrics, progress))

    def on_train_end(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _done(self, progress: Progress) -> int:
        return progress.epoch * self.steps + progress.step


def run_display() -> EpochLines:
    """The callback that shows a run: a progress bar on a terminal, lines elsewhere."""
    return ProgressBar() if Console().is_terminal else EpochLines()


@contextmanager
def molecule_bar() -> Iterator[ProgressHook | None]:
    """A progress bar for reading molecules, removed afterwards; None where standard error is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("molecules"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("molecules", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
