"""Runs of formats 1 and 2 read their files as they were read then: whole numbers as classes, by the alphabet."""

import json
from pathlib import Path

import pytest

from deepergcn.inference.predictor import load
from deepergcn.runs.run import FORMAT, Run
from tests.training.trained import make_run, small_recipe, write_lines


def older(run: Path, form: int) -> None:
    """Make the run directory one of an older format, whose recipe says no kind and no positive class."""
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(info | {"format": form}))


@pytest.mark.parametrize("form", [1, 2])
def test_whole_numbers_stay_classes(form: int, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "mine.csv", "smiles,y", *(f"{'C' * (i + 1)}O,{i % 3}" for i in range(12)))
    run = make_run(tmp_path, small_recipe(file, targets=["y"], kind="multi-class"))
    recipe = (run / "recipe.yaml").read_text()
    (run / "recipe.yaml").write_text(recipe.replace("    kind: multi-class\n", ""))
    assert "kind" not in Run.open(run).recipe.data.options
    older(run, form)
    assert Run.open(run).recipe.data.options["kind"] == "multi-class"


def test_the_positive_class_stays_the_last_of_the_alphabet(tmp_path: Path) -> None:
    rows = [f"{'C' * (i + 1)}O,{'in' * (i % 2)}active" for i in range(12)]
    file = write_lines(tmp_path / "mine.csv", "smiles,y", *rows)
    run = make_run(tmp_path, small_recipe(file, targets=["y"], positive=["inactive"]))
    recipe = (run / "recipe.yaml").read_text()
    (run / "recipe.yaml").write_text(recipe.replace("    positive:\n    - inactive\n", ""))
    older(run, 2)
    assert Run.open(run).recipe.data.options["positive"] == ["inactive"]
    assert list(load(run).predict(["CCO"]).columns()) == ["id", "class", "p(inactive)"]


def test_the_format_of_today(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "mine.csv", "smiles,y", *(f"{'C' * (i + 1)}O,{i % 2}" for i in range(12)))
    run = make_run(tmp_path, small_recipe(file, targets=["y"]))
    assert Run.open(run).info.format == FORMAT == 3
    assert Run.open(run).recipe.data.options == {"targets": ["y"]}
