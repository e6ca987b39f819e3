"""The file to try a trained network on."""

from pathlib import Path

import pytest

from deepergcn.inference.predictor import load
from deepergcn.runs.run import Run
from deepergcn.runs.sample import MOLECULES, write_sample
from tests.training.trained import make_run, molecule_file, small_recipe, table_files


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))


def test_the_sample_predicts_without_a_flag_repeated(tmp_path: Path) -> None:
    file = molecule_file(tmp_path)
    file.write_text(file.read_text().replace("smiles", "structure"))
    run = make_run(tmp_path, small_recipe(file, targets=["target"], smiles_column="structure"))
    sample = write_sample(Run.open(run))
    assert sample == run / "sample.csv"
    predictions = load(run).predict(sample, id_column="name")
    assert predictions.ids == tuple(MOLECULES)
    assert not predictions.skipped


def test_a_network_that_takes_a_column_of_numbers_has_no_sample(tmp_path: Path) -> None:
    recipe = small_recipe(molecule_file(tmp_path), targets=["target"], smiles_column="smiles")
    run = Run.open(make_run(tmp_path, recipe))
    run.recipe = recipe.model_copy(update={"data": recipe.data.model_copy(update={"descriptors": ("morgan", "mass")})})
    assert write_sample(run) is None


def test_tables_have_no_sample(tmp_path: Path) -> None:
    run = make_run(tmp_path, small_recipe(*table_files(tmp_path), label="y"))
    assert write_sample(Run.open(run)) is None
