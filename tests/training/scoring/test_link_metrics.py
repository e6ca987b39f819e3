"""The metrics of links beside their slow definitions, with ties, and the pairs that they cannot do without."""

import pytest
import torch
from torch import Tensor

from deepergcn.data.task import LINK_METRICS, Metric, Task
from deepergcn.errors import InputError
from deepergcn.training.scoring.metrics import make_metric


def scores(seed: int, links: int = 90, others: int = 150) -> tuple[list[float], list[float]]:
    """Outputs of links and of other pairs, many of them equal."""
    draw = torch.Generator().manual_seed(seed)
    positive = ((torch.randn(links, generator=draw) + 0.7) * 4).round() / 4
    negative = (torch.randn(others, generator=draw) * 4).round() / 4
    return positive.tolist(), negative.tolist()


def rocauc(positive: list[float], negative: list[float]) -> float:
    ordered = sum((p > n) + (p == n) / 2 for p in positive for n in negative)
    return ordered / (len(positive) * len(negative))


def hits(k: int, positive: list[float], negative: list[float]) -> float:
    """A link is a hit where fewer than K other pairs have its output or a higher one."""
    return sum(sum(n >= p for n in negative) < k for p in positive) / len(positive)


def mrr(positive: list[float], negative: list[float]) -> float:
    """The mean of the best and the worst place that a link may have among equal outputs."""
    total = 0.0
    for p in positive:
        best, worst = 1 + sum(n > p for n in negative), 1 + sum(n >= p for n in negative)
        total += 1 / ((best + worst) / 2)
    return total / len(positive)


def average_precision(positive: list[float], negative: list[float]) -> float:
    """The rise of the recall times the precision, over the thresholds from the highest down."""
    total, recall = 0.0, 0.0
    for threshold in sorted({*positive, *negative}, reverse=True):
        found, wrong = sum(p >= threshold for p in positive), sum(n >= threshold for n in negative)
        total += (found / len(positive) - recall) * found / (found + wrong)
        recall = found / len(positive)
    return total


def expected(metric: Metric, positive: list[float], negative: list[float]) -> float:
    if metric.startswith("hits@"):
        return hits(int(metric.removeprefix("hits@")), positive, negative)
    return {"rocauc": rocauc, "mrr": mrr, "ap": average_precision}[metric](positive, negative)


def items(positive: list[float], negative: list[float]) -> tuple[Tensor, Tensor]:
    """Outputs and labels in a mixed order."""
    outputs = torch.tensor([positive + negative]).T
    targets = torch.tensor([[1.0] * len(positive) + [0.0] * len(negative)]).T
    order = torch.randperm(len(outputs), generator=torch.Generator().manual_seed(1))
    return outputs[order], targets[order]


@pytest.mark.parametrize("metric", LINK_METRICS)
@pytest.mark.parametrize("seed", range(3))
def test_a_metric_is_its_definition(metric: Metric, seed: int) -> None:
    positive, negative = scores(seed)
    outputs, targets = items(positive, negative)
    score = make_metric(Task("link", "binary", 1, metric))
    for part in range(3):
        score.update(outputs[part::3], targets[part::3])
    assert score.higher_is_better
    assert score.compute() == pytest.approx(expected(metric, positive, negative), rel=1e-12)


def test_ties_count_neither_as_hits_nor_as_the_first_place() -> None:
    outputs, targets = items([0.0] * 3, [0.0] * 20)
    for metric, value in (("hits@20", 0.0), ("mrr", 1 / 11), ("rocauc", 0.5), ("ap", 3 / 23)):
        score = make_metric(Task("link", "binary", 1, metric))  # type: ignore[arg-type]
        score.update(outputs, targets)
        assert score.compute() == pytest.approx(value)


def test_fewer_pairs_than_k_are_an_error() -> None:
    score = make_metric(Task("link", "binary", 1, "hits@50"))
    score.update(*items([1.0], [0.0] * 49))
    with pytest.raises(InputError, match="metric hits@50: there are 49 pairs without a link; expected at least 50"):
        score.compute()


def test_metrics_of_links_are_for_links() -> None:
    with pytest.raises(InputError, match="task metric is 'mrr'; expected rocauc"):
        Task("node", "binary", 1, "mrr")
    with pytest.raises(InputError, match="task metric is 'f1'; expected rocauc or ap"):
        Task("link", "binary", 1, "f1")
    with pytest.raises(InputError, match="task kind is 'regression'; expected binary for a task on links"):
        Task("link", "regression", 1, "rmse")
