"""Calibration after a balanced loss: probabilities that are as frequent as they say."""

import pytest
import torch
from torch import Tensor

from deepergcn.data.task import Task
from deepergcn.runs.model.calibration import Calibration
from deepergcn.runs.model.outputs import decided_classes, thresholds, to_probabilities
from deepergcn.training.scoring.calibrate import fit_calibration
from deepergcn.training.scoring.losses import balanced_weight

ITEMS = 8_000


def two_classes(columns: int) -> tuple[Tensor, Tensor]:
    """Logits of a network that is too sure, after a balanced loss, and labels, about a tenth of them positive."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(ITEMS, columns, generator=generator) * 1.5 - 3
    y = (torch.rand(ITEMS, columns, generator=generator) < logits.sigmoid()).float()
    weight = balanced_weight(Task("graph", "multi-label", columns, "rocauc"), y)
    return 3 * (logits + weight.log()), y


def several_classes() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(ITEMS, 3, generator=generator) + torch.tensor([2.0, 0.0, -1.5])
    y = torch.multinomial(logits.softmax(1), 1, generator=generator)[:, 0]
    weight = balanced_weight(Task("graph", "multi-class", 3, "accuracy"), y)
    return 2 * (logits + weight.log()), y


@pytest.mark.parametrize("kind", ["binary", "multi-label"])
def test_the_mean_probability_is_the_share_of_positives(kind: str) -> None:
    columns = 1 if kind == "binary" else 3
    outputs, y = two_classes(columns)
    task = Task("graph", kind, columns, "rocauc")  # type: ignore[arg-type]
    half = ITEMS // 2
    weight = balanced_weight(task, y[:half])
    seen = y[:half].clone()
    seen[::7] = torch.nan
    found = fit_calibration(task, outputs[:half], seen, weight)
    assert found is not None
    before = (outputs[half:].sigmoid().mean(0) - y[half:].mean(0)).abs()
    after = (to_probabilities(task, outputs[half:], found).mean(0) - y[half:].mean(0)).abs()
    assert before.min() > 0.1
    assert after.max() < 0.02
    assert found.scale == pytest.approx([1 / 3] * columns, rel=0.2)


def test_the_mean_probability_of_every_class_is_its_share() -> None:
    outputs, y = several_classes()
    task, half = Task("graph", "multi-class", 3, "accuracy"), ITEMS // 2
    found = fit_calibration(task, outputs[:half], y[:half], balanced_weight(task, y[:half]))
    assert found is not None
    share = torch.bincount(y[half:], minlength=3) / half
    assert (outputs[half:].softmax(1).mean(0) - share).abs().max() > 0.1
    assert (to_probabilities(task, outputs[half:], found).mean(0) - share).abs().max() < 0.02


def test_decisions_are_those_of_the_outputs_before_calibration() -> None:
    outputs, y = two_classes(1)
    task = Task("graph", "binary", 1, "rocauc")
    found = fit_calibration(task, outputs, y, balanced_weight(task, y))
    assert found is not None
    values = to_probabilities(task, outputs.double(), found).numpy()
    assert decided_classes(task, values, found)[:, 0].tolist() == (outputs[:, 0] > 0).long().tolist()
    assert thresholds(task, found)[0] == pytest.approx(float(torch.tensor(found.shift[0]).sigmoid()))
    outputs, y = several_classes()
    task = Task("graph", "multi-class", 3, "accuracy")
    found = fit_calibration(task, outputs, y, balanced_weight(task, y))
    values = to_probabilities(task, outputs.double(), found).numpy()
    assert decided_classes(task, values, found)[:, 0].tolist() == outputs.argmax(1).tolist()


def test_a_part_with_one_class_stays_finite() -> None:
    task = Task("graph", "binary", 1, "rocauc")
    found = fit_calibration(task, torch.randn(20, 1), torch.zeros(20, 1), torch.tensor([9.0]))
    assert found is not None
    assert to_probabilities(task, torch.zeros(1, 1), found) < 0.1
    assert fit_calibration(task, torch.randn(3, 1), torch.full((3, 1), torch.nan), torch.ones(1)) is None
    assert fit_calibration(task, torch.full((3, 1), torch.inf), torch.zeros(3, 1), torch.ones(1)) is None


def test_a_calibration_is_a_scale_and_a_shift() -> None:
    outputs = torch.tensor([[1.0, -2.0]])
    assert Calibration(scale=(2.0, 0.5), shift=(1.0, -1.0))(outputs).tolist() == [[3.0, -2.0]]
