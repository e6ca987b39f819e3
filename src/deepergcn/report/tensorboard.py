"""TensorBoard events of a run: losses, scores, and beta, p, y and s of every layer."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from deepergcn.errors import InputError
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.run import DYNAMIC_COLUMNS, METRIC_COLUMNS, Row, Run
from deepergcn.runs.state import Progress

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FOLDER = "tensorboard"
"""The folder of the events in the run directory."""


class TensorBoard(Callback):
    """Writes events to the run directory. A resumed run replaces the events of epochs that are trained again."""

    def __init__(self) -> None:
        if find_spec("tensorboard") is None:
            raise InputError("--tensorboard: expected the package tensorboard; pip install 'deepergcn[tensorboard]'")
        self.writer: SummaryWriter | None = None

    def on_train_start(self, run: Run, progress: Progress, steps: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(run.path / FOLDER), purge_step=progress.epoch + 1)

    def on_epoch_end(self, metrics: Row, dynamics: Sequence[Row], progress: Progress) -> None:
        if self.writer is not None:
            self._write(self.writer, metrics, METRIC_COLUMNS[1:], "{name}", progress.epoch)
            for layer in dynamics:
                self._write(self.writer, layer, DYNAMIC_COLUMNS[2:], f"{{name}}/layer {layer['layer']}", progress.epoch)
            self.writer.flush()

    def on_train_end(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    @staticmethod
    def _write(writer: "SummaryWriter", row: Row, names: Sequence[str], title: str, epoch: int) -> None:
        for name in names:
            if row[name] is not None:
                writer.add_scalar(title.format(name=name), row[name], epoch)
