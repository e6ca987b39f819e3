"""Cross-validation of a user's own molecules: scores, predictions of all rows, resuming, and an ensemble."""

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from deepergcn.errors import InputError
from deepergcn.inference.ensemble import Ensemble
from deepergcn.inference.predictor import load
from deepergcn.runs.run import Run
from deepergcn.studies.folds import OUT_OF_FOLD, FoldsSummary, train_folds
from deepergcn.training.own_data import Choices, own_molecules, own_tables
from tests.training.trained import SMALL, write_lines

ROWS = 24


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [f"{'C' * (i % 8 + 1)}{'ON'[i % 2]},{'no' if i % 2 else 'yes'}" for i in range(ROWS)]
    return write_lines(tmp_path_factory.mktemp("folds") / "own.csv", "smiles,alcohol", *rows)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPERGCN_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="module")
def trained(file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FoldsSummary]:
    found = own_molecules(file, targets="alcohol", choices=Choices(folds=3, fractions=(0.6, 0.3, 0.1)))
    assert found.lines()[2][1].startswith(
        "3 folds, stratified with seed 0 (change it with --split), each the test part"
    )
    settings = (*found.settings, *SMALL)
    out = tmp_path_factory.mktemp("runs") / "folds"
    return train_folds(3, "own-molecules", settings=settings, out=out, epochs=1, loaded=found.loaded)


def test_the_scores_are_those_of_the_folds(trained: tuple[Path, FoldsSummary]) -> None:
    folder, summary = trained
    scores = [Run.open(folder / f"fold-{k}").summary() for k in range(3)]
    found = [score.test_score for score in scores if score is not None and score.test_score is not None]
    assert summary.test_scores == tuple(found)
    assert summary.test_mean == pytest.approx(np.mean(found))
    assert summary.test_deviation == pytest.approx(np.std(found, ddof=1))


def test_every_row_is_predicted_by_the_network_that_has_not_seen_it(trained: tuple[Path, FoldsSummary]) -> None:
    folder, _ = trained
    table = pyarrow.parquet.read_table(folder / OUT_OF_FOLD)
    assert table["row"].to_pylist() == list(range(1, ROWS + 1))
    assert sorted(set(table["fold"].to_pylist())) == [0, 1, 2]
    row = table.slice(4, 1).to_pylist()[0]
    alone = load(folder / f"fold-{row['fold']}").predict([row["id"]])
    assert row["p(yes)"] == pytest.approx(float(alone.values[0, 0]), rel=1e-5)
    assert row["alcohol"] == "yes"


def test_the_folder_predicts_as_an_ensemble(trained: tuple[Path, FoldsSummary]) -> None:
    model = load(trained[0])
    assert isinstance(model, Ensemble)
    members = np.stack([load(trained[0] / f"fold-{k}").predict(["CCO"]).values for k in range(3)])
    np.testing.assert_allclose(model.predict(["CCO"]).values, members.mean(0), rtol=1e-6)
    with pytest.raises(InputError, match="has several folds, which only predict combines"):
        model.evaluate()


def test_folds_that_have_not_ended_are_trained_when_resumed(trained: tuple[Path, FoldsSummary], tmp_path: Path) -> None:
    folder, summary = trained
    kept = (folder / OUT_OF_FOLD).read_bytes()
    (folder / "fold-1").rename(tmp_path / "gone")
    again = train_folds(None, None, out=folder, resume=True, epochs=1)[1]
    assert again == summary
    assert (folder / OUT_OF_FOLD).read_bytes() == kept
    with pytest.raises(InputError, match="has 3 folds; it cannot be resumed with --folds 4"):
        train_folds(4, None, out=folder, resume=True)
    with pytest.raises(InputError, match="continue them with --resume"):
        train_folds(3, "own-molecules", out=folder)


def test_a_column_is_no_split_into_folds(file: Path) -> None:
    with pytest.raises(InputError, match="--split is 'part'; expected random or stratified or scaffold with --folds"):
        own_molecules(file, targets="alcohol", choices=Choices(folds=3, split="part"))


def test_every_fold_can_be_scored_before_the_first_is_trained(tmp_path: Path) -> None:
    """A fold without a score would leave the mean in silence, and its best epoch would not be the best."""
    classes = [int(i < 6) for i in range(30)]
    rows = [f"{'C' * (i % 8 + 1)}{'ON'[i % 2]},{classes[i]}" for i in range(30)]
    file = write_lines(tmp_path / "rare.csv", "smiles,rare", *rows)
    choices = Choices(folds=4, split="random", seed=1, kind="binary")
    message = (
        r"rocauc cannot be computed on the valid part of fold 1, where no label has both classes; .* fewer --folds"
    )
    with pytest.raises(InputError, match=message):
        own_molecules(file, targets="rare", choices=choices)
    rings = [f"{('c1ccccc1', 'c1ccncc1', 'C1CCCCC1')[i % 3]}{'C' * i},{int(i % 3 < 2)}" for i in range(30)]
    file = write_lines(tmp_path / "rings.csv", "smiles,flat", *rings)
    with pytest.raises(InputError, match=r"the train part of fold 0 has one class only; expected .*fewer --folds"):
        own_molecules(file, targets="flat", choices=Choices(folds=3, split="scaffold", metrics=("accuracy",)))
    nodes = write_lines(tmp_path / "nodes.csv", "id,size,rare", *(f"{i},{i * i % 7},{classes[i]}" for i in range(30)))
    edges = write_lines(tmp_path / "edges.csv", "source,target", *(f"{i},{i * 7 % 30}" for i in range(30)))
    with pytest.raises(InputError, match=message):
        own_tables(nodes, edges, label="rare", choices=choices)
