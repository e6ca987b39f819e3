"""The CSV logs of a run, rewritten as a whole after each epoch."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.runs.model.network import AnyNetwork
from deepergcn.runs.run import DYNAMIC_COLUMNS, METRIC_COLUMNS, Row, read_rows
from deepergcn.runs.state import Scores


class RunLog:
    """``metrics.csv`` and ``dynamics.csv`` of a run directory; rows of later epochs are dropped.

    Args:
        folder: the run directory.
        epoch: the last epoch to keep.
    """

    def __init__(self, folder: Path, epoch: int) -> None:
        self.folder = folder
        self.metrics = _kept(folder / "metrics.csv", METRIC_COLUMNS, epoch)
        self.dynamics = _kept(folder / "dynamics.csv", DYNAMIC_COLUMNS, epoch)

    def write(
        self, epoch: int, train_loss: float, scores: Scores | None, rate: float, seconds: float, model: AnyNetwork
    ) -> tuple[Row, list[Row]]:
        """Add an epoch; returns its row of ``metrics.csv`` and its rows of ``dynamics.csv``."""
        row: Row = {
            "epoch": epoch,
            "train_loss": train_loss,
            "valid_loss": scores.valid_loss if scores else None,
            "test_loss": scores.test_loss if scores else None,
            "train_score": scores.train_score if scores else None,
            "valid_score": scores.valid_score if scores else None,
            "test_score": scores.test_score if scores else None,
            "learning_rate": rate,
            "seconds": round(seconds, 3),
            "peak_memory_mb": round(_peak_memory() / 2**20, 1),
        }
        self.metrics += _line(row[name] for name in METRIC_COLUMNS)
        layers: list[Row] = [
            {"epoch": epoch, "layer": layer, **{name: _mean(values, name) for name in DYNAMIC_COLUMNS[2:]}}
            for layer, values in enumerate(model.dynamics(), start=1)
        ]
        self.dynamics += "".join(_line(values[name] for name in DYNAMIC_COLUMNS) for values in layers)
        write_text(self.folder / "metrics.csv", self.metrics)
        write_text(self.folder / "dynamics.csv", self.dynamics)
        return row, layers


def _kept(path: Path, columns: tuple[str, ...], epoch: int) -> str:
    """The lines of a log up to an epoch, unchanged; a damaged file is an error."""
    header = ",".join(columns) + "\n"
    if not path.exists():
        return header
    rows = read_rows(path, columns)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[1:]
    if len(lines) != len(rows) or any(row["epoch"] is None for row in rows):
        raise InputError(f"{path}: is damaged; expected {len(columns)} numbers on every line, the epoch first")
    return header + "".join(line for line, row in zip(lines, rows, strict=True) if (row["epoch"] or 0) <= epoch)


def _line(values: Iterable[float | None]) -> str:
    return ",".join("" if value is None else repr(value) for value in values) + "\n"


def _mean(dynamics: Mapping[str, float | list[float]], name: str) -> float | None:
    """The mean of the values of this name, which layers of several convolutions or aggregators (``beta_1``) have."""
    found = [value for key, value in dynamics.items() if key.partition("_")[0] == name]
    values = [number for value in found for number in (value if isinstance(value, list) else [value])]
    return sum(values) / len(values) if values else None


def _peak_memory() -> int:
    """The peak resident memory of this process in bytes."""
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
