"""What a run on own data keeps when it has ended, and other files that it is scored on."""

import csv
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from deepergcn.errors import InputError
from deepergcn.inference.predictor import load
from deepergcn.runs.run import Run
from deepergcn.training.own_data import Choices, own_molecules
from deepergcn.training.train import train
from tests.training.trained import write_lines

SMALL = ("model.num_layers=2", "model.hidden_channels=8", "model.virtual_node=false", "training.epochs=2")


def trained(folder: Path, header: str, rows: list[str], targets: list[str], **choices: object) -> Run:
    file = write_lines(folder / "mine.csv", header, *rows)
    found = own_molecules(file, targets=targets, choices=Choices(**choices), root=folder)  # type: ignore[arg-type]
    return train("own-molecules", settings=(*found.settings, *SMALL), out=folder / "run", loaded=found.loaded)


def smiles(i: int) -> str:
    return f"{'C' * (i % 20 + 1)}{'ON'[i // 20 % 2]}"


def test_a_rare_class(tmp_path: Path) -> None:
    rows = [f"{smiles(i)},{'in' * (i % 10 > 0)}active" for i in range(200)]
    run = trained(tmp_path, "smiles,y", rows, ["y"], metrics=["rocauc", "mcc"], fractions=(0.5, 0.25, 0.25))
    assert run.recipe.loss.balance
    table = pyarrow.parquet.read_table(run.path / "predictions.parquet")
    assert table.column_names == ["id", "part", "y", "class", "p(active)"]
    valid = np.array(table["part"].to_pylist()) == "valid"
    active = np.array(table["y"].to_pylist()) == "active"
    probability = np.array(table["p(active)"].to_pylist())
    assert abs(probability[valid].mean() - active[valid].mean()) < 0.02
    assert abs(probability[~valid].mean() - active[~valid].mean()) < 0.02
    with (run.path / "split.csv").open(newline="") as file:
        parts = [row["part"] for row in csv.DictReader(file)]
    assert len(parts) == 200
    assert parts.count("valid") == int(valid.sum()) == 50
    scores, summary, report = run.scores(), run.summary(), run.data_report()
    assert scores is not None
    assert summary is not None
    assert report is not None
    assert list(scores.parts["test"]) == ["rocauc", "mcc"]
    assert scores.parts["test"]["rocauc"].score == summary.test_score
    assert report.balance
    model = load(run.path)
    predicted = model.predict(tmp_path / "mine.csv")
    columns = predicted.columns(inputs=True)
    by_id = dict(zip(table["id"].to_pylist(), probability, strict=True))
    for name, found in zip(columns["smiles"], columns["p(active)"], strict=True):
        assert name not in by_id or found == pytest.approx(by_id[name], rel=1e-4)
    (decision,) = predicted.decisions()
    assert decision.startswith("class is active where its probability is above 0.")
    assert decision.endswith(", which was a half before calibration on the validation part")


def test_several_numbers_and_another_file(tmp_path: Path) -> None:
    rows = [f"{smiles(i)},{i % 20},{(i % 20) * 1000 + i % 3}" for i in range(80)]
    run = trained(tmp_path, "smiles,size,mass", rows, ["size,mass"], metrics=["rmse", "r2"])
    assert run.recipe.evaluation.scaled
    scores = run.scores()
    assert scores is not None
    found = scores.parts["test"]["rmse"]
    assert set(found.targets) == {"size", "mass"}
    size, mass = found.targets["size"], found.targets["mass"]
    assert size is not None
    assert mass is not None
    assert found.score is not None
    assert mass > 100 * size  # each in its own unit
    assert found.score < size  # in standard deviations, of which a size has several units
    model = load(run.path)
    columns = model.predict(tmp_path / "mine.csv").columns(inputs=True)
    assert list(columns) == ["id", "smiles", "size", "mass", "size (predicted)", "mass (predicted)"]
    assert model.is_trained_on(tmp_path / "mine.csv")
    other = write_lines(tmp_path / "other.csv", "mass,smiles,size", "1000,CCO,", ",CCN,3", ",CCC,", "x,C(,1")
    assert not model.is_trained_on(other)
    good = write_lines(tmp_path / "good.csv", "mass,smiles,size", "1000,CCO,", ",CCN,3", ",CCC,")
    count, scored = model.evaluate_file(good, metrics=("mae",))
    assert count == 2
    renamed = write_lines(tmp_path / "renamed.csv", "mass;structure;size", "1000;CCO;", ";CCN;3", ";CCC;")
    assert model.evaluate_file(renamed, metrics=("mae",), smiles_column="structure") == (2, scored)
    capitals = write_lines(tmp_path / "capitals.csv", "mass,SMILES,size", "1000,CCO,", ",CCN,3", ",CCC,")
    assert model.evaluate_file(capitals, metrics=("mae",), delimiter=",") == (2, scored)
    predicted = model.predict(good).columns()
    errors = [abs(predicted["size"][1] - 3), abs(predicted["mass"][0] - 1000)]
    assert [scored["mae"].targets["size"], scored["mae"].targets["mass"]] == pytest.approx(errors, rel=1e-4)
    with pytest.raises(InputError, match="no row has a label in 'size', 'mass'"):
        model.evaluate_file(write_lines(tmp_path / "none.csv", "mass,smiles,size", ",CCC,"))
