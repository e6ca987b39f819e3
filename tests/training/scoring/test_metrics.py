"""Metrics: equal to the evaluators of the Open Graph Benchmark, however items are cut into updates and ranks."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    r2_score,
    roc_auc_score,
)
from torch import Tensor
from torch import distributed as dist

from deepergcn.data.task import Metric, Task
from deepergcn.errors import InputError
from deepergcn.training.scoring.metrics import make_metric
from tests.training.small import start

BINARY = Task("graph", "binary", 1, "rocauc")
LABELS = Task("node", "multi-label", 5, "rocauc")
CLASSES = Task("graph", "multi-class", 3, "accuracy")


def labels_with_gaps(items: int = 400) -> tuple[Tensor, Tensor]:
    """Outputs with ties, and targets with gaps: task 3 has one class only, task 4 no label."""
    generator = torch.Generator().manual_seed(0)
    outputs = (torch.randn(items, 5, generator=generator) * 8).round() / 8
    targets = (outputs + torch.randn(items, 5, generator=generator) > 0.5).float()
    targets[torch.rand(items, 5, generator=generator) < 0.3] = torch.nan
    targets[:, 3] = torch.where(targets[:, 3].isnan(), torch.nan, 1.0)
    targets[:, 4] = torch.nan
    return outputs, targets


def ogb_rocauc(outputs: Tensor, targets: Tensor) -> float:
    """As OGB's evaluators define it."""
    scores = []
    for o, t in zip(outputs.T.numpy(), targets.T.numpy(), strict=True):
        if (t == 1).any() and (t == 0).any():
            scores.append(roc_auc_score(t[t == t], o[t == t]))
    return float(np.mean(scores))


def test_rocauc_is_that_of_ogb() -> None:
    outputs, targets = labels_with_gaps()
    metric = make_metric(LABELS)
    metric.update(outputs, targets)
    assert metric.compute() == pytest.approx(ogb_rocauc(outputs, targets), abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e-6])
def test_rocauc_depends_on_the_order_of_outputs_alone(scale: float) -> None:
    outputs, targets = labels_with_gaps()
    metric = make_metric(LABELS)
    metric.update(outputs * scale, targets)
    assert metric.compute() == pytest.approx(ogb_rocauc(outputs, targets), abs=1e-12)


def test_average_precision_is_that_of_ogb() -> None:
    outputs, targets = labels_with_gaps()
    metric = make_metric(LABELS.with_metric("ap"))
    metric.update(outputs, targets)
    scores = []
    for o, t in zip(outputs.T.numpy(), targets.T.numpy(), strict=True):
        if (t == 1).any() and (t == 0).any():
            scores.append(average_precision_score(t[t == t], o[t == t]))
    assert metric.compute() == pytest.approx(np.mean(scores), abs=1e-12)


def test_average_precision_of_known_cases() -> None:
    targets = torch.tensor([[0.0], [0.0], [1.0], [1.0]])
    for outputs, score in (([1, 2, 3, 4], 1.0), ([4, 3, 2, 1], 5 / 12), ([5, 5, 5, 5], 0.5), ([1, 3, 2, 4], 5 / 6)):
        metric = make_metric(BINARY.with_metric("ap"))
        metric.update(torch.tensor(outputs).float()[:, None], targets)
        assert metric.compute() == pytest.approx(score, abs=1e-15)


def test_rocauc_of_known_cases() -> None:
    targets = torch.tensor([[0.0], [0.0], [1.0], [1.0]])
    for outputs, area in (([1, 2, 3, 4], 1.0), ([4, 3, 2, 1], 0.0), ([5, 5, 5, 5], 0.5), ([1, 3, 2, 4], 0.75)):
        metric = make_metric(BINARY)
        metric.update(torch.tensor(outputs).float()[:, None], targets)
        assert metric.compute() == area


@pytest.mark.parametrize(
    "task",
    [
        LABELS,
        Task("node", "multi-label", 5, "ap"),
        Task("node", "multi-label", 5, "accuracy"),
        Task("node", "regression", 5, "mae"),
        Task("node", "regression", 5, "rmse"),
    ],
)
def test_any_cut_into_updates_gives_the_same_score(task: Task) -> None:
    outputs, targets = labels_with_gaps()
    whole, cut = make_metric(task), make_metric(task)
    whole.update(outputs, targets)
    order = torch.randperm(len(outputs), generator=torch.Generator().manual_seed(1))
    for part in (order[:7], order[7:7], order[7:300], order[300:]):
        cut.update(outputs[part], targets[part])
    assert cut.compute() == pytest.approx(whole.compute(), abs=1e-12)


def test_reset_forgets() -> None:
    outputs, targets = labels_with_gaps()
    for task in (LABELS, Task("node", "regression", 5, "mae")):
        metric = make_metric(task)
        metric.update(-outputs, targets)
        metric.compute()
        metric.reset()
        metric.update(outputs, targets)
        fresh = make_metric(task)
        fresh.update(outputs, targets)
        assert metric.compute() == fresh.compute()


def test_accuracy_of_classes_ignores_missing_ones() -> None:
    metric = make_metric(CLASSES)
    metric.update(torch.eye(3)[[0, 1, 2, 2]], torch.tensor([0, 1, 1, -1]))
    assert metric.compute() == pytest.approx(2 / 3)


def test_accuracy_of_labels_is_the_mean_over_tasks_with_a_label() -> None:
    task = Task("graph", "multi-label", 3, "accuracy")
    metric = make_metric(task)
    outputs = torch.tensor([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    targets = torch.tensor([[1.0, 0.0, torch.nan], [0.0, torch.nan, torch.nan]])
    metric.update(outputs, targets)
    assert metric.compute() == (0.5 + 1.0) / 2


def test_errors_of_regressions() -> None:
    outputs, targets = torch.tensor([[1.0, 0.0], [3.0, 5.0]]), torch.tensor([[0.0, torch.nan], [0.0, 1.0]])
    for metric_name, score in (("mae", (2 + 4) / 2), ("rmse", (math.sqrt(5) + 4) / 2)):
        metric = make_metric(Task("graph", "regression", 2, metric_name))  # type: ignore[arg-type]
        metric.update(outputs, targets)
        assert metric.compute() == pytest.approx(score, abs=1e-12)
        assert not metric.higher_is_better


@pytest.mark.parametrize("task", [BINARY, CLASSES, Task("graph", "regression", 1, "rmse")])
def test_a_part_without_items_has_no_score(task: Task) -> None:
    assert math.isnan(make_metric(task).compute())


def test_one_class_alone_has_no_rocauc() -> None:
    metric = make_metric(BINARY)
    metric.update(torch.randn(4, 1), torch.ones(4, 1))
    assert math.isnan(metric.compute())


def test_outputs_that_are_not_numbers_have_no_score() -> None:
    metric = make_metric(BINARY)
    metric.update(torch.tensor([[torch.nan], [1.0]]), torch.tensor([[0.0], [1.0]]))
    assert math.isnan(metric.compute())


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(InputError, match=r"outputs are torch.float32 \[4\]; expected floating-point \[items, 1\]"):
        make_metric(BINARY).update(torch.zeros(4), torch.zeros(4, 1))
    with pytest.raises(InputError, match=r"targets are torch.float32 \[4\]; expected integer \[4\]"):
        make_metric(CLASSES).update(torch.zeros(4, 3), torch.zeros(4))


def _rank(rank: int, meeting: str, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    outputs, targets = labels_with_gaps()
    scores = []
    for task in (LABELS, Task("node", "regression", 5, "rmse")):
        for parts in ((slice(0, 150), slice(150, None)), (slice(0, None), None)):
            metric = make_metric(task)
            part = parts[rank]
            if part is not None:
                metric.update(outputs[part], targets[part])
            scores.append(metric.compute())
    Path(folder, f"{rank}.txt").write_text(" ".join(map(repr, scores)))
    dist.destroy_process_group()


def test_ranks_with_unequal_shares_agree_on_the_score_of_all(tmp_path: Path) -> None:
    processes = [start(_rank, rank, str(tmp_path / "meeting"), str(tmp_path)) for rank in (0, 1)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    outputs, targets = labels_with_gaps()
    metric = make_metric(Task("node", "regression", 5, "rmse"))
    metric.update(outputs, targets)
    area, error = ogb_rocauc(outputs, targets), metric.compute()
    for rank in (0, 1):
        scores = [float(word) for word in (tmp_path / f"{rank}.txt").read_text().split()]
        assert scores == pytest.approx([area, area, error, error], abs=1e-12)


def scored(task: Task, outputs: Tensor, targets: Tensor, scale: Tensor | None = None) -> float:
    metric = make_metric(task, scale)
    for some in torch.arange(len(outputs)).split(150):
        metric.update(outputs[some], targets[some])
    return metric.compute()


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("balanced-accuracy", balanced_accuracy_score), ("mcc", matthews_corrcoef), ("f1", f1_score)],
)
def test_decisions_are_scored_as_by_scikit_learn(name: Metric, theirs: Callable[..., float]) -> None:
    outputs, targets = labels_with_gaps()
    found = []
    targets[:, 3] = torch.nan
    for o, t in zip(outputs[:, :3].T.numpy(), targets[:, :3].T.numpy(), strict=True):
        known = ~np.isnan(t)
        found.append(theirs(t[known], o[known] > 0))
    assert scored(LABELS.with_metric(name), outputs, targets) == pytest.approx(float(np.mean(found)), abs=1e-12)
    assert scored(BINARY.with_metric(name), outputs[:, :1], targets[:, :1]) == pytest.approx(found[0], abs=1e-12)
    generator = torch.Generator().manual_seed(1)
    logits, classes = torch.randn(300, 3, generator=generator), torch.randint(-1, 3, (300,), generator=generator)
    there = classes >= 0
    options = {"average": "macro"} if name == "f1" else {}
    expected = theirs(classes[there].numpy(), logits[there].argmax(1).numpy(), **options)
    assert scored(CLASSES.with_metric(name), logits, classes) == pytest.approx(expected, abs=1e-12)


def ranks(values: Tensor) -> Tensor:
    """By the definition: the number of smaller values, and half the number of equal ones."""
    below, equal = (values[:, None] > values).sum(1), (values[:, None] == values).sum(1)
    return below + (equal + 1) / 2


def test_r2_and_spearman_are_those_of_scikit_learn_and_of_the_definition() -> None:
    generator = torch.Generator().manual_seed(0)
    targets = (torch.randn(400, 2, generator=generator) * 4).round()
    outputs = targets + torch.randn(400, 2, generator=generator).round()
    targets[:50, 1] = torch.nan
    task = Task("graph", "regression", 2, "r2")
    columns = [(targets[:, 0], outputs[:, 0]), (targets[50:, 1], outputs[50:, 1])]
    expected = np.mean([r2_score(t.double(), o.double()) for t, o in columns])
    assert scored(task, outputs, targets) == pytest.approx(float(expected), abs=1e-12)
    expected = np.mean([np.corrcoef(ranks(t), ranks(o))[0, 1] for t, o in columns])
    assert scored(task.with_metric("spearman"), outputs, targets) == pytest.approx(float(expected), abs=1e-12)
    assert math.isnan(scored(task, outputs, torch.ones(400, 2)))
    assert math.isnan(scored(task.with_metric("spearman"), torch.ones(400, 2), targets))


@pytest.mark.parametrize("metric", ["rmse", "mae"])
def test_errors_of_several_targets_are_averaged_in_units_of_their_scale(metric: Metric) -> None:
    outputs, targets = torch.tensor([[1.0, 200.0], [3.0, 400.0]]), torch.tensor([[0.0, 100.0], [2.0, 300.0]])
    task = Task("graph", "regression", 2, metric)
    assert scored(task, outputs, targets) == 50.5
    assert scored(task, outputs, targets, torch.tensor([1.0, 100.0])) == 1.0
