"""Losses: the mean over the labels that are there."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.training.scoring.losses import balanced_weight, make_loss

LABELS = Task("node", "multi-label", 2, "rocauc")
CLASSES = Task("graph", "multi-class", 3, "accuracy")
NUMBERS = Task("graph", "regression", 2, "rmse")
NAN = torch.nan


def outputs_of(task: Task, items: int) -> Tensor:
    return torch.randn(items, task.outputs, generator=torch.Generator().manual_seed(0)).requires_grad_()


def targets_of(task: Task) -> Tensor:
    if task.kind == "multi-class":
        return torch.tensor([0, -1, 2, 1])
    return torch.tensor([[0.0, 1.0], [NAN, 1.0], [1.0, NAN], [NAN, NAN]])


def test_labels_are_the_mean_binary_cross_entropy_of_those_present() -> None:
    outputs, targets = outputs_of(LABELS, 4), targets_of(LABELS)
    known = ~targets.isnan()
    expected = F.binary_cross_entropy_with_logits(outputs[known], targets[known])
    torch.testing.assert_close(make_loss(LABELS)(outputs, targets), expected)


def test_classes_are_the_mean_cross_entropy_of_those_present() -> None:
    outputs, targets = outputs_of(CLASSES, 4), targets_of(CLASSES)
    known = targets >= 0
    expected = F.cross_entropy(outputs[known], targets[known])
    torch.testing.assert_close(make_loss(CLASSES)(outputs, targets), expected)


def test_numbers_are_the_mean_square_of_those_present() -> None:
    outputs, targets = outputs_of(NUMBERS, 4), targets_of(NUMBERS)
    known = ~targets.isnan()
    expected = F.mse_loss(outputs[known], targets[known])
    torch.testing.assert_close(make_loss(NUMBERS)(outputs, targets), expected)


@pytest.mark.parametrize("task", [LABELS, CLASSES, NUMBERS])
def test_a_missing_label_has_no_gradient(task: Task) -> None:
    outputs, targets = outputs_of(task, 4), targets_of(task)
    make_loss(task)(outputs, targets).backward()
    assert outputs.grad is not None
    missing = targets.isnan() if targets.is_floating_point() else (targets < 0)[:, None].expand(-1, 3)
    assert bool((outputs.grad[missing] == 0).all())
    assert bool((outputs.grad[~missing] != 0).all())


@pytest.mark.parametrize("task", [LABELS, CLASSES, NUMBERS])
def test_a_batch_without_labels_has_loss_and_gradient_0(task: Task) -> None:
    targets = targets_of(task)
    targets = torch.full_like(targets, NAN if targets.is_floating_point() else -1)
    outputs = outputs_of(task, 4)
    loss = make_loss(task)(outputs, targets)
    loss.backward()
    assert loss == 0
    assert outputs.grad is not None
    assert not outputs.grad.any()


@pytest.mark.parametrize("task", [LABELS, CLASSES, NUMBERS])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_batch_is_the_sum_of_its_parts_by_their_labels(task: Task, weighted: bool) -> None:
    outputs, targets = outputs_of(task, 4), targets_of(task)
    loss = make_loss(task, torch.arange(1.0, task.outputs + 1) if weighted else None)
    known = (~targets.isnan()).sum(1) if targets.is_floating_point() else (targets >= 0).long()
    parts = [loss(outputs[p], targets[p]) * known[p].sum() for p in (slice(0, 1), slice(1, 4))]
    torch.testing.assert_close(loss(outputs, targets), torch.stack(parts).sum() / known.sum())


def test_balanced_weights_make_classes_count_alike() -> None:
    targets = torch.tensor([0] * 6 + [1] * 3 + [2] + [-1] * 5)
    weight = balanced_weight(CLASSES, targets)
    totals = weight * torch.tensor([6.0, 3.0, 1.0])
    torch.testing.assert_close(totals, torch.full((3,), 10 / 3))


def test_balanced_weights_of_labels_are_negatives_by_positives() -> None:
    targets = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, NAN], [1.0, 0.0], [NAN, NAN]])
    assert balanced_weight(LABELS, targets).tolist() == [3.0, 1.0]


def test_balanced_weights_of_numbers_undo_their_scale() -> None:
    targets = torch.tensor([[0.0, 7.0], [20.0, 7.0], [NAN, 7.0]])
    torch.testing.assert_close(balanced_weight(NUMBERS, targets), torch.tensor([0.01, 1.0]))


def test_a_weight_counts_as_so_many_labels() -> None:
    outputs = torch.zeros(3, 3)
    loss = make_loss(CLASSES, torch.tensor([3.0, 1.0, 2.0]))
    torch.testing.assert_close(loss(outputs, torch.tensor([0, 1, 2])), torch.log(torch.tensor(3.0)) * 2)


def test_a_wrong_weight_is_named() -> None:
    with pytest.raises(InputError, match="expected 3 numbers above 0"):
        make_loss(CLASSES, torch.ones(2))


@pytest.mark.parametrize("task", [LABELS, CLASSES, NUMBERS])
def test_items_have_weights(task: Task) -> None:
    torch.manual_seed(0)
    outputs = torch.randn(6, task.outputs)
    targets = torch.arange(6) % 3 if task.kind == "multi-class" else (torch.randn(6, task.outputs) > 0).float()
    loss, items = make_loss(task), torch.tensor([1.0, 2.0, 0.0, 4.0, 0.5, 3.0])
    each = torch.stack([loss(outputs[i : i + 1], targets[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(loss(outputs, targets, items), (each * items).mean())
