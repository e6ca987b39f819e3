"""New molecules for a teacher: whose parts are drawn, and what they become in a dataset."""

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from deepergcn.data.task import Task
from deepergcn.recipes.load import load_recipe
from deepergcn.runs.dataset import load_data
from deepergcn.training.forests.recombined import _weights, recombined, with_molecules
from tests.training.small import molecule_settings, molecules


def test_classes_are_drawn_alike() -> None:
    y = torch.tensor([[1.0], [0.0], [0.0], [0.0], [torch.nan]])
    found = _weights(Task("graph", "binary", 1, "rocauc"), y)
    assert_close(found, torch.tensor([1, 1 / 3, 1 / 3, 1 / 3, 1 / 2], dtype=torch.float64))
    found = _weights(Task("graph", "multi-class", 3, "accuracy"), torch.tensor([0, 2, 2, -1]))
    assert_close(found, torch.tensor([1, 1 / 2, 1 / 2, 2 / 3], dtype=torch.float64))


def test_labels_are_drawn_alike() -> None:
    y = torch.tensor([[1.0, 0.0], [0.0, torch.nan], [0.0, 1.0]])
    found = _weights(Task("graph", "multi-label", 2, "rocauc"), y)
    assert_close(found, torch.tensor([2, 1 / 2, 3 / 2], dtype=torch.float64))
    nothing = _weights(Task("graph", "multi-label", 2, "rocauc"), torch.full((3, 2), torch.nan))
    assert nothing.tolist() == [1.0, 1.0, 1.0]


def test_numbers_make_no_difference() -> None:
    found = _weights(Task("graph", "regression", 1, "rmse"), torch.tensor([[1.0], [5.0], [torch.nan]]))
    assert len(set(found.tolist())) == 1


def test_new_molecules_are_made_of_the_train_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the valid part alone have sulfur."""
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))
    file = molecules(tmp_path)
    lines = file.read_text().splitlines()
    sulfur = [line.replace("O", "S").replace("N", "S") if line.endswith("valid") else line for line in lines]
    file.write_text("\n".join(sulfur) + "\n")
    recipe = load_recipe("solubility", molecule_settings(file, "data.descriptors=[maccs]"))
    dataset = load_data(recipe)
    made = [recombined(dataset, 6, seed) for seed in (0, 0, 1)]
    assert made[0] == made[1] != made[2]
    assert not any("S" in text for text in made[0])
    larger = with_molecules(dataset, made[0], recipe, descriptors=True)
    assert dataset.fingerprints is not None
    assert larger.fingerprints is not None
    assert torch.equal(larger.fingerprints[: len(dataset)], dataset.fingerprints)
    assert larger.fingerprints[len(dataset) :].any(1).all()
    assert larger.split.keys() == dataset.split.keys()
    assert all(torch.equal(larger.split[part], dataset.split[part]) for part in dataset.split)
    assert with_molecules(dataset, made[0], recipe, descriptors=False).fingerprints is None
