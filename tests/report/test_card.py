"""Model cards: front matter that a hub reads, and a folder that predicts."""

from pathlib import Path

import pytest
import yaml

import deepergcn
from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.report.card import card, write_card
from deepergcn.runs.run import BlendSummary, Run, Summary
from tests.training.trained import make_run, molecule_file, small_recipe


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))


def finished_run(folder: Path) -> Run:
    run = Run.open(make_run(folder, small_recipe(molecule_file(folder), targets=["target"])))
    summary = Summary(
        recipe=run.recipe.name,
        seed=0,
        metric="accuracy",
        epochs=9,
        best_epoch=4,
        train_score=None,
        valid_score=0.75,
        test_score=0.5,
        parameters=1,
        seconds=1.0,
    )
    write_text(run.path / "summary.json", summary.model_dump_json())
    return run


def test_a_folder_ready_to_upload(tmp_path: Path) -> None:
    run, out = finished_run(tmp_path), tmp_path / "upload"
    text = write_card(run, out, licence="mit", intended_use="Ranking molecules.").read_text()
    _, front, body = text.split("---\n", 2)
    values = yaml.safe_load(front)
    assert values["library_name"] == "deepergcn"
    assert values["license"] == "mit"
    (entry,) = values["model-index"]
    scores = {r["dataset"]["split"]: r["metrics"] for r in entry["results"]}
    assert scores == {
        "test": [{"type": "accuracy", "value": 0.5}],
        "valid": [{"type": "accuracy", "value": 0.75}],
    }
    for part in (run.info.digest, "Ranking molecules.", "4 of 9", "num_layers", "| train | not scored |"):
        assert part in body
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "model.safetensors"]
    ours, theirs = (deepergcn.load(folder).predict(["CCO"]).values for folder in (out, run.path))
    assert (ours == theirs).all()


def test_names_of_the_users_files_are_shown_as_they_are(tmp_path: Path) -> None:
    """In a table of Markdown a bar would be a cell more, and a line end the end of the table."""
    run = finished_run(tmp_path)
    names = ("<script>alert(1)</script>", "a|b\nc & `d`", "ü $x$", "soluble_in")
    info = run.info.model_copy(update={"label_names": names, "dataset": "my|data.csv"})
    summary = run.summary()
    assert summary is not None
    blend = BlendSummary(
        weight=0.85, trees=500, network_valid=0.5, network_test=0.5, forest_valid=0.75, forest_test=None
    )
    text = card(Run(run.path, run.recipe, info), summary.model_copy(update={"blend": blend}))
    outputs = r"| Outputs | &lt;script>alert(1)&lt;/script>, a\|b\\nc &amp; \`d\`, ü \$x\$, soluble_in |"
    assert outputs in text.splitlines()
    assert r"| Dataset | my\|data.csv |" in text.splitlines()
    assert "| Blend | 85% random forest of 500 trees, by validation; network alone accuracy valid 0.5000" in text
    assert "Blend" not in card(run, summary)


def test_the_card_lies_in_the_run_directory_by_default(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    path = write_card(run)
    assert path == run.path / "README.md"
    assert "license" not in yaml.safe_load(path.read_text().split("---\n", 2)[1])


def test_refusals(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    with pytest.raises(InputError, match="not an empty folder"):
        write_card(run, run.path)
    (run.path / "summary.json").unlink()
    with pytest.raises(InputError, match="has not finished"):
        write_card(run)
