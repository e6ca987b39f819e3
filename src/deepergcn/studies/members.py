"""What seeds and folds share: a folder of several runs, the record of its members, and the means of their scores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from pydantic import BaseModel, ConfigDict

from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.runs.run import Run
from deepergcn.training.processes.distributed import is_first_process
from deepergcn.training.signals import Interrupted

Begun = Callable[[Path], Mapping[int, Path]]
"""The runs of a folder that have begun, by their number."""


class MembersSummary(BaseModel):
    """Mean and standard deviation of the scores of several runs, each at its best epoch by validation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    metric: str
    valid_scores: tuple[float | None, ...]
    test_scores: tuple[float | None, ...]
    valid_mean: float | None
    valid_deviation: float | None
    test_mean: float | None
    test_deviation: float | None


def check_folder(folder: Path, begun: Mapping[int, Path], resume: bool, members: str) -> None:
    """Raise an error if the folder holds a single run, or runs that are not to be resumed.

    Args:
        folder: The folder of the runs.
        begun: The runs that have begun there.
        resume: Whether they are to be resumed.
        members: What the runs are: seeds or folds.
    """
    if (folder / "run.json").exists():
        raise InputError(f"{folder}: has a single run; expected another --out for several {members}")
    if begun and not resume:
        raise InputError(
            f"{folder}: has the runs of several {members}; continue them with --resume, or choose another --out"
        )


@contextmanager
def recorded(file: Path, record: BaseModel, begun: Begun) -> Iterator[None]:
    """Write the record of a folder for the time of its runs; it is removed again if none of them begins.

    Args:
        file: The record, in the folder of the runs.
        record: Its content.
        begun: Finds the runs that have begun.
    """
    folder = file.parent
    if is_first_process():
        write_text(file, record.model_dump_json() + "\n")
    try:
        yield
    except Interrupted as stopped:
        raise Interrupted(stopped.number, folder, stopped.when) from None
    finally:
        if is_first_process() and not begun(folder):
            file.unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()


def write_summary(folder: Path, summary: MembersSummary) -> None:
    """Write ``summary.json`` of a folder of runs."""
    if is_first_process():
        write_text(folder / "summary.json", summary.model_dump_json(indent=1) + "\n")


def scores_of(runs: Sequence[Run]) -> dict[str, Any]:
    """The fields of :class:`MembersSummary` for runs that have ended."""
    ended = [summary for summary in (run.summary() for run in runs) if summary is not None]
    valid = tuple(summary.valid_score for summary in ended)
    test = tuple(summary.test_score for summary in ended)
    return {
        "recipe": runs[0].recipe.name,
        "metric": runs[0].info.inputs.task.metric,
        "valid_scores": valid,
        "test_scores": test,
        "valid_mean": _mean(valid),
        "valid_deviation": _deviation(valid),
        "test_mean": _mean(test),
        "test_deviation": _deviation(test),
    }


def _mean(scores: Sequence[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return mean(known) if known else None


def _deviation(scores: Sequence[float | None]) -> float | None:
    """The standard deviation of the sample, as the paper's tables have it."""
    known = [score for score in scores if score is not None]
    return stdev(known) if len(known) > 1 else None
