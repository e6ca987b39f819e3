"""All metrics of a trained network on a part: together, and of every target alone in its own unit."""

from collections.abc import Sequence

from torch import Tensor

from deepergcn.data.task import Metric, Task
from deepergcn.runs.run import MetricScore


def all_scores(
    task: Task,
    metrics: Sequence[Metric],
    names: Sequence[str],
    outputs: Tensor,
    targets: Tensor,
    scale: Tensor | None = None,
) -> dict[str, MetricScore]:
    """The score by each metric; None if there is nothing to score.

    Args:
        task: What is predicted.
        metrics: The metrics.
        names: The names of the task's outputs.
        outputs: [items, outputs] of the network.
        targets: Labels of the same items.
        scale: What errors of each target are divided by before they are averaged; a target alone is in its own unit.
    """
    single = task.kind in ("binary", "multi-class") or task.outputs == 1
    found: dict[str, MetricScore] = {}
    for metric in metrics:
        named = task.with_metric(metric)
        alone = {} if single else {name: _alone(named, outputs, targets, n) for n, name in enumerate(names)}
        found[metric] = MetricScore(score=_score(named, outputs, targets, scale), targets=alone)
    return found


def _alone(task: Task, outputs: Tensor, targets: Tensor, number: int) -> float | None:
    kind = "binary" if task.kind == "multi-label" else task.kind
    one = Task(task.level, kind, 1, task.metric)
    return _score(one, outputs[:, number : number + 1], targets[:, number : number + 1], None)


def _score(task: Task, outputs: Tensor, targets: Tensor, scale: Tensor | None) -> float | None:
    from deepergcn.training.scoring.metrics import make_metric  # here, since torchmetrics is slow to import

    metric = make_metric(task, scale)
    metric.distributed_available_fn = lambda: False  # one process has all outputs; the others do not take part
    metric.update(outputs, targets)
    score = metric.compute()
    return None if score != score else score
