"""Which data a report may read to predict: that of a run directory, never what a model file alone names."""

import shutil
from pathlib import Path

import pytest

from deepergcn.errors import InputError
from deepergcn.inference.outcomes import find_outcomes
from deepergcn.runs.run import Run
from tests.training.trained import make_run, molecule_file, small_recipe


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))
    return make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"]))


def test_the_run_directory_reads_its_own_data(run: Path) -> None:
    found = find_outcomes(run)
    assert len(found.ids) == len(found.truth) == len(found.values) > 0


def test_a_model_file_reads_no_data_that_its_user_has_not_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "downloaded").mkdir()
    shutil.copy(run / "model.safetensors", tmp_path / "downloaded")
    for model in (tmp_path / "downloaded", tmp_path / "downloaded" / "model.safetensors"):
        with pytest.raises(InputError, match=r"classes\.csv: is not read for a model file alone"):
            find_outcomes(model)


def test_a_model_of_other_data_in_a_run_directory_reads_none(run: Path, tmp_path: Path) -> None:
    opened = Run.open(run)
    other = opened.recipe.data.model_copy(update={"source": str(tmp_path / "mine.csv")})
    Run.create(run, opened.recipe.model_copy(update={"data": other}), opened.info)
    with pytest.raises(InputError, match=r"classes\.csv: is not read for a model file alone"):
        find_outcomes(run)
