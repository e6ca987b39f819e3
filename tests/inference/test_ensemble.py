"""A folder of seeds predicts the mean of its networks, with the deviation between them."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from deepergcn.errors import InputError
from deepergcn.inference.ensemble import Ensemble
from deepergcn.inference.explain import explain
from deepergcn.inference.export import export
from deepergcn.inference.predictor import load
from tests.training.trained import make_run, molecule_file, small_recipe, write_lines


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))


def seeds(folder: Path, kind: str = "binary", count: int = 3) -> Path:
    """Runs of one recipe with different weights."""
    recipe = small_recipe(molecule_file(folder, kind), targets=["target"], smiles_column="smiles")
    for seed in range(count):
        (folder / "one").mkdir()
        path = make_run(folder / "one", recipe, seed=seed)
        (folder / "runs").mkdir(exist_ok=True)
        path.rename(folder / "runs" / f"seed-{seed}")
        (folder / "one").rmdir()
    return folder / "runs"


@pytest.mark.parametrize(("kind", "column"), [("binary", "p(yes)"), ("numbers", "target"), ("classes", "p(high)")])
def test_predictions_are_means_with_their_deviation(tmp_path: Path, kind: str, column: str) -> None:
    folder = seeds(tmp_path, kind)
    data = write_lines(tmp_path / "new.csv", "smiles", "CCO", "no molecule", "CCCCO")
    together = load(folder)
    assert isinstance(together, Ensemble)
    found = together.predict(data)
    alone = np.stack([load(folder / f"seed-{seed}").predict(data).values for seed in range(3)])
    np.testing.assert_allclose(found.values, alone.mean(0), rtol=1e-6)
    assert found.deviations is not None
    np.testing.assert_allclose(found.deviations, alone.std(0, ddof=1), rtol=1e-4, atol=1e-7)
    assert float(np.nanmin(found.deviations)) > 0
    found.write(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0][f"deviation({column})"] == f"{found.deviations[0, 0]:.6g}"
    assert rows[1][column] == rows[1][f"deviation({column})"] == ""


def test_what_belongs_to_one_network_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = seeds(tmp_path, count=2)
    model = load(folder)
    calls: list[Callable[[list[str]], object]] = [
        model.embed,
        model.evaluate,
        lambda data: model.network,
        lambda data: model.dataset(),
        lambda data: explain(model, data),
        lambda data: export(model, tmp_path / "out.pt2", "torch-export"),
    ]
    for call in calls:
        with pytest.raises(InputError, match=r"has several seeds, which only predict combines; .*seed-0"):
            call(["CCO"])


def test_one_trained_seed_or_different_recipes_are_no_ensemble(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = seeds(tmp_path, count=2)
    second = folder / "seed-1" / "model.safetensors"
    content = second.read_bytes()
    second.unlink()
    with pytest.raises(InputError, match="has 1 trained seeds; expected at least 2 to average"):
        load(folder)
    second.write_bytes(content)
    caplog.clear()
    (folder / "seeds.json").write_text('{"seeds": [0, 1, 2]}')
    load(folder)
    assert "runs: seed-2 has not been trained; predictions are means of the other 2" in caplog.text
    (folder / "seed-1" / "state").mkdir(exist_ok=True)
    load(folder)
    assert "seed-1: training has not ended; the network is that of the best epoch so far" in caplog.text
    members = [load(folder / f"seed-{seed}") for seed in range(2)]
    members[1].info = members[1].info.model_copy(update={"digest": "other"})
    with pytest.raises(InputError, match="has seeds of different recipes or data"):
        Ensemble(folder, members)
