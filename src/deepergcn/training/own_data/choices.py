"""What a user chooses, where it would otherwise be inferred from a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from deepergcn.data.folds import check_folds
from deepergcn.data.task import LINK_METRICS, METRICS, Kind, Level, Metric
from deepergcn.errors import InputError

_OTHER_NAMES = {"pr-auc": "ap", "prauc": "ap", "roc-auc": "rocauc", "auc": "rocauc"}


@dataclass(frozen=True)
class Choices:
    """Choices for molecules and tables; those left out are inferred, and listed in the data report.

    Args:
        kind: The kind of the task.
        metrics: The metrics; the first selects the best epoch.
        positive: The positive class, or one for each target.
        missing: Values that mark a missing label.
        split: ``"stratified"``, ``"random"``, ``"scaffold"`` (molecules), a column of train, valid or test, or
            masks such as ``train_mask,val_mask,test_mask``.
        fractions: The sizes of train, valid and test.
        seed: The seed of the split.
        folds: The number of folds of a cross-validation; the first of them is read.
        delimiter: The separator of the cells of a text file.
        options: Further options of the reader by name, which take precedence.
        kind_reason: Why the task is of this kind.
    """

    kind: Kind | None = None
    metrics: Sequence[str] = ()
    positive: Sequence[str] = ()
    missing: Sequence[str] = ()
    split: str | None = None
    fractions: Sequence[float] | None = None
    seed: int | None = None
    folds: int | None = None
    delimiter: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    kind_reason: str = "from --task"

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in METRICS:
            raise InputError(f"task is {self.kind!r}; expected one of {', '.join(METRICS)}")
        if self.folds is not None:
            check_folds(self.folds)

    def reader_options(self) -> dict[str, Any]:
        """The chosen options of the reader, except those of the split."""
        said = {
            "missing": list(self.missing),
            "fractions": None if self.fractions is None else list(self.fractions),
            "seed": self.seed,
            "delimiter": self.delimiter,
        }
        return {name: value for name, value in said.items() if value not in (None, [])}

    def metric_names(self, kind: Kind, level: Level = "node") -> tuple[tuple[Metric, ...], str]:
        """The metrics for a task of this kind, and the reason for them."""
        known, what = (LINK_METRICS, "task on links") if level == "link" else (METRICS[kind], f"{kind} task")
        if not self.metrics:
            return known[:1], f"the default for a {what}; change it with --metric"
        found: list[Metric] = []
        for said in self.metrics:
            name = _OTHER_NAMES.get(said.lower(), said.lower())
            fitting = next((metric for metric in get_args(Metric) if metric == name), None)
            if fitting not in known:
                raise InputError(f"metric is {said!r}; expected one of {', '.join(known)} for a {what}")
            if fitting not in found:
                found.append(fitting)
        return tuple(found), "as given" if len(found) == 1 else "as given; the first selects the best epoch"
