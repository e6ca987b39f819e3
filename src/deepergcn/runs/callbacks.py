"""Who is told how a run goes on; here nobody."""

from collections.abc import Sequence

from deepergcn.runs.run import Row, Run
from deepergcn.runs.state import Progress


class Reporter:
    """Hears of a run as it goes on; every method may be overridden."""

    def started(self, run: Run, progress: Progress, steps: int) -> None:
        """The run starts, or goes on from ``progress``, with so many steps an epoch."""

    def stepped(self, epoch: int, step: int, loss: float) -> None:
        """So many steps of this epoch are done."""

    def ended_epoch(self, row: Row, layers: Sequence[Row], progress: Progress) -> None:
        """An epoch is done; ``row`` is its line of ``metrics.csv``, ``layers`` are its lines of ``dynamics.csv``."""

    def left(self) -> None:
        """The run has been left, ended or not."""
