"""Settings found from a user's own files: strange columns, gaps, imbalance, too few rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from deepergcn.data.molecules.read import read_molecules
from deepergcn.data.tables.read import read_tables
from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.runs.dataset import load_data
from deepergcn.training.own_data import Choices, OwnData, own_molecules, own_tables
from deepergcn.training.own_data.molecules import molecule_training_length
from deepergcn.training.prepare import plan_run
from tests.training.trained import small_recipe, table_files


def settings(found: OwnData) -> dict[str, Any]:
    return {key: json.loads(value) for key, _, value in (setting.partition("=") for setting in found.settings)}


def refuse_to_read(*arguments: object, **options: object) -> None:
    raise AssertionError("the files are read again")


def molecules(folder: Path, rows: list[str], header: str = "Smiles,activity") -> Path:
    path = folder / "mine.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


BINARY = {"targets": ["activity"], "kind": "binary", "positive": ["1"], "metric": "rocauc"}


def test_a_balanced_binary_file(tmp_path: Path) -> None:
    path = molecules(tmp_path, [f"{'C' * (i % 30 + 1)}O,{i % 2}" for i in range(200)])
    found = settings(own_molecules(path, targets="activity", root=tmp_path))
    assert found["data.source"] == str(path.resolve())
    assert found["data.options"] == {**BINARY, "split": "stratified"}
    assert found["loss.balance"] is False
    assert found["training.batch_size"] == 32
    assert found["training.epochs"] == 200
    assert found["training.patience"] == 100


def test_a_rare_class_is_weighted(tmp_path: Path) -> None:
    path = molecules(tmp_path, [f"{'C' * (i % 30 + 1)}O,{int(i % 10 == 0)}" for i in range(300)])
    assert settings(own_molecules(path, targets="activity", root=tmp_path))["loss.balance"] is True


def test_a_metric_that_cannot_be_computed_on_a_part(tmp_path: Path) -> None:
    path = molecules(tmp_path, [f"{'C' * (i + 1)}O,{int(i == 0)}" for i in range(20)])
    with pytest.raises(
        InputError,
        match=r"rocauc cannot be computed on the valid part, where no label has both classes; .* or --metric accuracy",
    ):
        own_molecules(path, targets="activity", root=tmp_path)
    found = own_molecules(path, targets="activity", choices=Choices(metrics=["accuracy", "mcc"]), root=tmp_path)
    assert settings(found)["data.options"]["metric"] == "accuracy"
    assert settings(found)["evaluation.metrics"] == ["accuracy", "mcc"]
    numbers = molecules(tmp_path, [f"{'C' * (i + 1)}O,{0.5 if i < 39 else 1.5}" for i in range(40)])
    with pytest.raises(InputError, match=r"r2 cannot be computed on the \w+ part, where all labels are equal"):
        own_molecules(numbers, targets="activity", choices=Choices(metrics=["r2"]), root=tmp_path)


def test_numbers_are_a_regression_whose_scales_count_alike(tmp_path: Path) -> None:
    rows = [f"{'C' * (i + 1)}O,{i * 10.5},{i * 0.01 + 0.001}" for i in range(20)]
    path = molecules(tmp_path, rows, header="Smiles,melting point,density")
    found = settings(own_molecules(path, targets=["melting point", "density"], root=tmp_path))
    assert found["loss.balance"] is True


def test_longer_files_have_larger_batches_and_fewer_epochs(tmp_path: Path) -> None:
    path = molecules(tmp_path, [f"{'C' * (i % 7 + 1)}O,{i % 3}" for i in range(4000)])
    found = settings(own_molecules(path, targets="activity", root=tmp_path))
    assert found["training.batch_size"] == 64
    assert found["training.epochs"] == 50


@pytest.mark.parametrize(
    ("train", "epochs", "batch_size"),
    [(16, 200, 32), (160, 200, 32), (600, 53, 64), (5000, 50, 64), (10_000, 25, 64), (10**6, 20, 128)],
)
def test_few_molecules_are_seen_more_often_than_many(train: int, epochs: int, batch_size: int) -> None:
    found = molecule_training_length(train)
    assert found["training.epochs"] == epochs
    assert found["training.batch_size"] == batch_size
    assert found["training.patience"] == epochs // 2


def test_a_forest_is_blended_with_few_molecules_unless_something_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepergcn.training.own_data.molecules._MOST_BLENDED", 15)
    rows = [f"{'C' * (i + 1)}O,{i * 0.5}" for i in range(30)]
    found = {}
    for count in (18, 30):  # of which 14 and 24 are in the train part
        path = molecules(tmp_path, rows[:count])
        for said in (None, True, False):
            own = own_molecules(path, targets="activity", descriptors=("morgan",), blend=said, root=tmp_path)
            found[count, said] = "blend.model" in settings(own)
    assert [found[18, said] for said in (None, True, False)] == [True, True, False]
    assert [found[30, said] for said in (None, True, False)] == [False, True, False]
    alone = own_molecules(path, targets="activity", blend=None, root=tmp_path)
    assert settings(alone)["blend"] is None
    unused = own_molecules(path, targets="activity", descriptors=("morgan",), join=False, blend=None, root=tmp_path)
    assert settings(unused)["data.descriptors"] == []
    assert unused.loaded.dataset.fingerprints is None


def test_too_few_labels_are_named(tmp_path: Path) -> None:
    path = molecules(tmp_path, ["CCO,1", "CCN,0", "CCC,"])
    with pytest.raises(
        InputError, match=r"mine\.csv: has 2 molecules with a label, which leaves none for valid; expected at least 10"
    ):
        own_molecules(path, targets="activity", root=tmp_path)


def test_a_wrong_column_is_named(tmp_path: Path) -> None:
    path = molecules(tmp_path, ["CCO,1"])
    with pytest.raises(InputError, match="there is no column 'toxic' for the labels; the columns are 'Smiles'"):
        own_molecules(path, targets="toxic", root=tmp_path)


def test_a_split_column_is_found_or_named(tmp_path: Path) -> None:
    parts = ["train", "val", "test", ""]
    rows = [f"C1{'C' * (i % 20 + 2)}1,{i * 7 // 4 % 2},{parts[i % 4]},{parts[i * 3 // 5 % 3]}" for i in range(200)]
    path = molecules(tmp_path, rows, header="Smiles,activity,split,fold")
    found = own_molecules(path, targets="activity", root=tmp_path)
    assert settings(found)["data.options"] == {**BINARY, "split_column": "split"}
    assert found.report.split.source == "column 'split' (change it with --split)"
    for split, options in (
        ("fold", {"split_column": "fold"}),
        ("scaffold", {"split": "scaffold"}),
        ("random", {"split": "random"}),
    ):
        chosen = own_molecules(path, targets="activity", choices=Choices(split=split), root=tmp_path)
        assert settings(chosen)["data.options"] == {**BINARY, **options}


def tables(folder: Path, nodes: int = 150) -> tuple[Path, Path]:
    node_file, edge_file = folder / "nodes.csv", folder / "edges.csv"
    rows = [f"n{i},{'abc'[i % 3]},{i / 7:.3f},{'red' if i % 2 else 'blue'},note {i}," for i in range(nodes)]
    node_file.write_text("\n".join(["id,y,weight,colour,remark,empty", *rows]) + "\n", encoding="utf-8")
    links = [f"n{i},n{(i * 7 + 1) % nodes}" for i in range(nodes)]
    edge_file.write_text("\n".join(["source,target", *links]) + "\n", encoding="utf-8")
    return node_file, edge_file


def test_tables_leave_out_columns_that_are_no_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, edges = tables(tmp_path)
    own = own_tables(nodes, edges, label="y", root=tmp_path)
    found = settings(own)
    assert found["data.options"]["features"] == ["weight", "colour"]
    assert found["data.options"]["edge_features"] == []
    assert (found["data.source"], found["data.edges"]) == (str(nodes.resolve()), str(edges.resolve()))
    assert found["training.partitions"] == 1
    assert [(column.name, column.text) for column in own.report.dropped] == [
        ("remark", "150 different texts"),
        ("empty", "empty"),
    ]
    monkeypatch.setattr("deepergcn.training.own_data.tables._NODES_IN_MEMORY", 60)
    assert settings(own_tables(tmp_path, label="y", root=tmp_path))["training.partitions"] == 3


def test_nodes_without_features_have_those_of_their_edges(tmp_path: Path) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
    edges.write_text("source,target\n" + "".join(f"{i},{(i + 1) % 40}\n" for i in range(40)))
    assert settings(own_tables(nodes, edges, label="y", root=tmp_path))["data.transforms"] == ["degree-encoding"]
    edges.write_text("source,target,weight\n" + "".join(f"{i},{(i + 1) % 40},{i}\n" for i in range(40)))
    found = settings(own_tables(nodes, edges, label="y", root=tmp_path))
    assert found["data.transforms"] == ["node-features-from-edges"]


def test_the_split_of_a_table_is_no_feature(tmp_path: Path) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    parts = ["train", "train", "valid", "test"]
    nodes.write_text("id,size,split,y\n" + "".join(f"{i},{i},{parts[i % 4]},{i % 3}\n" for i in range(40)))
    edges.write_text("source,target\n" + "".join(f"{i},{(i + 1) % 40}\n" for i in range(40)))
    options = settings(own_tables(nodes, edges, label="y", root=tmp_path))["data.options"]
    assert (options["features"], options["split_column"]) == (["size"], "split")
    assert "directed" not in options
    dataset = read_tables(nodes, edges, root=tmp_path, **options)
    assert dataset.split["valid"].tolist() == list(range(2, 40, 4))
    assert dataset.symmetric

    options = settings(
        own_tables(nodes, edges, label="y", choices=Choices(split="random"), directed=True, root=tmp_path)
    )["data.options"]
    assert (options["features"], options["directed"]) == (["size"], True)
    assert "split_column" not in options
    assert not read_tables(nodes, edges, root=tmp_path, **options).symmetric


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["train", "holdout"], r"row 2: the split column 'Split' is 'holdout'; expected train, valid or test"),
        (["test", "valid"], r"no row of the split column 'Split' is train"),
    ],
)
def test_a_split_column_that_is_none_is_an_error(tmp_path: Path, parts: list[str], message: str) -> None:
    file = tmp_path / "molecules.csv"
    rows = [f"{'C' * (i + 1)},{i % 2},{parts[i % 2]}" for i in range(40)]
    file.write_text("\n".join(["smiles,y,Split", *rows]) + "\n")
    with pytest.raises(InputError, match=message + ".*; --split random splits at random instead"):
        own_molecules(file, targets="y", root=tmp_path)
    assert "split_column" not in settings(
        own_molecules(file, targets="y", choices=Choices(split="stratified"), root=tmp_path)
    )

    nodes, edges = tables(tmp_path, 40)
    lines = nodes.read_text().splitlines()
    cells = ["Split", *(parts[i % 2] for i in range(40))]
    nodes.write_text("".join(f"{line},{cell}\n" for line, cell in zip(lines, cells, strict=True)))
    with pytest.raises(InputError, match=message + ".*; --split random splits at random instead"):
        own_tables(nodes, edges, label="y", root=tmp_path)
    with pytest.raises(InputError, match=message):
        own_tables(nodes, edges, label="y", choices=Choices(split="Split"), root=tmp_path)


def test_the_split_column_in_any_capitals(tmp_path: Path) -> None:
    file = tmp_path / "molecules.csv"
    parts = ["TRAIN", "Train", "Validation", "test"]
    rows = [f"{'C' * (i + 1)},{i % 3},{parts[i % 4]}" for i in range(40)]
    file.write_text("\n".join(["smiles,y,SPLIT", *rows]) + "\n")
    assert settings(own_molecules(file, targets="y", root=tmp_path))["data.options"]["split_column"] == "SPLIT"
    file.write_text("\n".join(["smiles,y,SPLIT,split", *(f"{row},train" for row in rows)]) + "\n")
    with pytest.raises(InputError, match="has the columns 'SPLIT', 'split'; expected one split column"):
        own_molecules(file, targets="y", root=tmp_path)


def test_the_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, edges = table_files(tmp_path)
    found = own_tables(nodes, edges, label="y", root=tmp_path)
    recipe = load_recipe("own-tables", found.settings)
    monkeypatch.setattr("deepergcn.runs.dataset.load_described", refuse_to_read)
    monkeypatch.setattr("deepergcn.data.tables.files.read_columns", refuse_to_read)
    assert load_data(recipe, found.loaded) is found.loaded.dataset
    other = recipe.data.model_copy(update={"options": {**recipe.data.options, "directed": True}})
    with pytest.raises(AssertionError, match="read again"):
        load_data(recipe.model_copy(update={"data": other}), found.loaded)


def test_another_metric_needs_no_other_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = molecules(tmp_path, [f"{'C' * (i + 1)},{i % 2}" for i in range(20)])
    first = read_molecules(path, targets="activity", root=tmp_path)
    monkeypatch.setattr("deepergcn.data.molecules.read.open_rows", refuse_to_read)
    second = read_molecules(path, targets="activity", metric="accuracy", root=tmp_path)
    assert (first.task.metric, second.task.metric) == ("rocauc", "accuracy")
    with pytest.raises(InputError, match="task metric is 'mae'"):
        read_molecules(path, targets="activity", metric="mae", root=tmp_path)


def test_a_run_keeps_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, edges = table_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    recipe = plan_run(tmp_path / "run", small_recipe(Path("nodes.csv"), Path("edges.csv"), label="y")).recipe
    assert (recipe.data.source, recipe.data.edges) == (str(nodes), str(edges))
    named = plan_run(tmp_path / "run", load_recipe("solubility")).recipe
    assert named.data.source == "solubility"
