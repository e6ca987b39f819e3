"""A search for settings on disk, ``tuning.json``, and its page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict

from deepergcn.data.storage.files import write_text
from deepergcn.report.charts.line_chart import PALETTE, Line, LineChart, Point
from deepergcn.report.charts.svg import draw
from deepergcn.runs.run import read_json

FILE = "tuning.json"
FORMAT = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class TrialRecord(_Part):
    """One trial: a run directory with its settings and its best validation score.

    ``state`` is running for one that was interrupted, pruned for one that was stopped since others did better at the
    same epoch, failed with the ``reason``, or complete.
    """

    number: int
    folder: str
    state: Literal["running", "complete", "pruned", "failed"]
    settings: dict[str, Any]
    score: float | None = None
    reason: str = ""


class TuningRecord(_Part):
    """``tuning.json``: what was searched, all trials, and how much each setting mattered.

    ``seed`` is that of the search and of every trial, ``digest`` that of the data.
    ``importance`` is the share of the variance of the scores that a setting explains (PED-ANOVA), empty for few trials.
    """

    format: int = FORMAT
    recipe: str
    metric: str
    higher_is_better: bool
    seed: int = 0
    digest: str = ""
    space: dict[str, Any]
    trials: tuple[TrialRecord, ...] = ()
    importance: dict[str, float] = {}

    def best(self) -> TrialRecord | None:
        """The complete trial with the best validation score."""
        done = [trial for trial in self.trials if trial.state == "complete" and trial.score is not None]
        sign = 1 if self.higher_is_better else -1
        return max(done, key=lambda trial: sign * (trial.score or 0.0), default=None)


@dataclass(frozen=True)
class TuningPage:
    """All that the page says of a search."""

    anchor: str
    title: str
    record: TuningRecord
    kind: str = "tuning"

    @property
    def drawn(self) -> list[LineChart]:
        return [chart for chart in (_history(self.record), _importance(self.record)) if not chart.is_empty]

    @property
    def charts(self) -> list[Markup]:
        return [Markup(draw(chart)) for chart in self.drawn]

    @property
    def keys(self) -> list[str]:
        return list(self.record.space)

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials, the best first, those without a score last."""
        sign = -1 if self.record.higher_is_better else 1
        return sorted(self.record.trials, key=lambda trial: (trial.score is None, sign * (trial.score or 0.0)))


def is_tuning(folder: Path) -> bool:
    """Whether a folder holds a search for settings."""
    return (folder / FILE).is_file()


def read_tuning(folder: Path) -> TuningRecord:
    """The record of a search."""
    return read_json(folder / FILE, TuningRecord)


def write_tuning(folder: Path, record: TuningRecord) -> None:
    """Write the record of a search."""
    write_text(folder / FILE, record.model_dump_json(indent=1) + "\n")


def tuning_page(folder: Path) -> TuningPage:
    """The page of a search."""
    record = read_tuning(folder)
    return TuningPage(folder.name, f"{record.recipe}: settings tried by validation {record.metric}", record)


def _history(record: TuningRecord) -> LineChart:
    """The score of every trial, and the best so far."""
    scored = [trial for trial in record.trials if trial.score is not None]
    lines = []
    for colour, state in zip(PALETTE, ("complete", "pruned"), strict=False):
        points = [Point(t.number, t.score or 0.0, note=_settings(t)) for t in scored if t.state == state]
        lines.append(Line(state, tuple(points), colour, "dots"))
    better = max if record.higher_is_better else min
    best: list[Point] = []
    for trial in scored:
        if trial.state == "complete":
            score = trial.score or 0.0
            best.append(Point(trial.number, score if not best else better(best[-1].y, score)))
    lines.append(Line("best so far", tuple(best), PALETTE[2], "dashed"))
    return LineChart("Trials", "trial", f"validation {record.metric}", tuple(lines))


def _importance(record: TuningRecord) -> LineChart:
    """How much every setting mattered."""
    points = tuple(Point(place, share) for place, share in enumerate(record.importance.values()))
    names = tuple(key.partition(".")[2] or key for key in record.importance)
    line = Line("importance", points, PALETTE[0], "dots")
    return LineChart("What mattered", "setting", "share of the variance", (line,), names or None)


def _settings(trial: TrialRecord) -> str:
    return ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in trial.settings.items())
