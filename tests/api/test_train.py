"""``deepergcn.train`` on data in memory: an ordinary run, the same options, and the same reader as for files."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import torch
from rdkit import Chem
from torch_geometric.data import HeteroData

import deepergcn
from deepergcn.api.stored import store_molecules
from deepergcn.api.trained import Trained
from deepergcn.cli.own_data_options import OwnDataOptions
from deepergcn.cli.read_own_data import read_own_data
from deepergcn.errors import InputError
from tests.api.samples import ACTIVE, ROWS, SMALL, SMILES, frames, many_graphs, molecules, network, pyg
from tests.cli.program import Program


@pytest.fixture(scope="module")
def of_molecules(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    place = tmp_path_factory.mktemp("molecules") / "run"
    return deepergcn.train(molecules=molecules(), target="y", epochs=1, settings=SMALL, out=place)


@pytest.fixture(scope="module")
def of_pyg() -> Trained:
    return deepergcn.train(graph=pyg(), epochs=1, settings=SMALL)


@pytest.fixture(scope="module")
def of_graphs(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    place = tmp_path_factory.mktemp("graphs") / "run"
    return deepergcn.train(graphs=many_graphs(), epochs=1, settings=SMALL, out=place)


def test_the_report_is_that_of_a_file(of_molecules: Trained) -> None:
    report = of_molecules.report
    assert report is not None
    assert (report.rows, report.task) == (ROWS, "binary")
    assert report.targets[0].classes == {"inactive": 40, "active": 20}
    assert report.targets[0].positive == "active"
    assert report.split.sizes == {"train": 48, "valid": 6, "test": 6}
    assert of_molecules.run.data_report() == report


def test_nothing_is_printed_unless_asked_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    deepergcn.train(molecules=SMILES, target=np.arange(ROWS) / 3, epochs=1, settings=SMALL)
    assert capfd.readouterr() == ("", "")
    deepergcn.train(molecules=SMILES, target=ACTIVE, epochs=1, settings=SMALL, verbose=True)
    out = capfd.readouterr().out
    assert "target    target: binary" in out
    assert "epoch 1/1" in out


def test_all_kinds_of_molecules_are_predicted_alike(of_molecules: Trained) -> None:
    expected = of_molecules.predict(["CCO", "CCCN"]).values
    frame = molecules().loc[[1, 32]]
    assert frame.smiles.tolist() == ["CCO", "CCCN"]
    for data in (frame, frame.smiles, frame.smiles.to_numpy(), [Chem.MolFromSmiles(text) for text in ("CCO", "CCCN")]):
        np.testing.assert_array_equal(of_molecules.predict(data).values, expected)
    columns = of_molecules.predict(frame).columns(inputs=True)
    assert list(columns) == ["id", "smiles", "y", "size", "class", "p(active)"]
    assert of_molecules.embed(frame).values.shape == (2, 16)  # of the graph and of its descriptors


def test_molecules_that_cannot_be_read_keep_their_row(of_molecules: Trained) -> None:
    found = of_molecules.predict(["CCO", "C(C", None])
    assert [row.row for row in found.skipped] == [2, 3]
    assert np.isnan(found.values[:, 0]).tolist() == [False, True, True]


def test_the_program_takes_the_run(
    of_molecules: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = Program(monkeypatch, capsys)
    moved = of_molecules.save(tmp_path / "moved").path
    evaluated = program("evaluate", moved, "--split", "test")
    assert evaluated.code == 0, evaluated.err
    assert f"{of_molecules.summary().test_score:.4f}" in evaluated.out
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")
    assert program("predict", moved, tmp_path / "new.csv", "--output", tmp_path / "out.csv").code == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "id,smiles,class,p(active)"
    assert program("train", "--resume", "--out", moved, "--epochs", "2").code == 0
    assert len(deepergcn.load(moved).evaluate()) == 3
    assert program("report", moved).code == 0


def test_a_run_that_was_moved_reads_the_data_it_holds(of_molecules: Trained, tmp_path: Path) -> None:
    moved = of_molecules.save(tmp_path / "moved")
    assert moved.evaluate() == of_molecules.evaluate()
    assert moved.recipe.data.source == str(tmp_path / "moved" / "data" / "molecules.parquet")
    assert "source: data/molecules.parquet" in (tmp_path / "moved" / "recipe.yaml").read_text()
    alone = deepergcn.load(moved.path / "model.safetensors")
    with pytest.raises(InputError, match="is not read for a model file alone"):
        alone.evaluate()
    with pytest.raises(InputError, match="exists already"):
        of_molecules.save(moved.path)


def test_a_run_goes_on_without_its_data(of_molecules: Trained, tmp_path: Path) -> None:
    moved = of_molecules.save(tmp_path / "moved").path
    longer = deepergcn.train(resume=True, out=moved, epochs=2)
    assert longer.summary().epochs == 2
    with pytest.raises(InputError, match="molecules: cannot be combined with resume, since the run has its data"):
        deepergcn.train(molecules=SMILES, target=ACTIVE, resume=True, out=moved)


def test_a_temporary_run_lasts_as_long_as_its_network() -> None:
    model = deepergcn.train(molecules=SMILES, target=ACTIVE, epochs=1, settings=SMALL)
    place = model.path
    assert (place / "run.json").is_file()
    del model
    assert not place.parent.exists()


def test_a_graph_of_pyg_has_classes_and_messages_both_ways(of_pyg: Trained) -> None:
    report = of_pyg.report
    assert report is not None
    assert report.graph is not None
    assert (report.task, report.graph.edges.rows, report.graph.directed) == ("multi-class", ROWS, False)
    assert "integers" in report.targets[0].reason
    found = of_pyg.predict(pyg())
    assert list(found.columns()) == ["id", "class", "p(0)", "p(1)", "p(2)"]
    assert of_pyg.embed(pyg()).values.shape == (ROWS, 8)
    one_way = pyg()
    one_way.edge_index = one_way.edge_index[:, :ROWS]
    np.testing.assert_allclose(of_pyg.predict(one_way).values, found.values, rtol=1e-5)


def test_a_network_of_directed_edges_reads_an_undirected_graph_both_ways() -> None:
    model = deepergcn.train(graph=pyg(), directed=True, epochs=1, settings=SMALL)
    expected = model.predict(pyg()).values
    nodes = pyg()
    both = torch.cat((nodes.edge_index[:, ROWS:], nodes.edge_index[:, :ROWS]), 1)
    nodes.edge_index = both
    np.testing.assert_allclose(model.predict(nodes).values, expected, rtol=1e-5)
    nodes.edge_index = both[:, ROWS:]
    assert np.abs(model.predict(nodes).values - expected).max() > 1e-3


def test_networkx_and_frames() -> None:
    graph = network()
    model = deepergcn.train(graph=graph, label="role", epochs=1, settings=SMALL, metric=["mcc", "rocauc"], seed=3)
    assert model.report is not None
    assert [column.name for column in model.report.features] == ["size", "kind", "edge weight"]
    assert (model.report.metrics, model.info.seed) == (("mcc", "rocauc"), 3)
    assert model.predict(graph).ids[:2] == ("n0", "n1")
    nodes, edges = frames()
    model = deepergcn.train(graph=(nodes, edges), label="y", epochs=1, settings=SMALL)
    assert model.task.kind == "regression"
    pair = model.predict((nodes, edges))
    assert list(pair.columns()) == ["id", "y"]
    np.testing.assert_array_equal(model.predict(nodes, edges).values, pair.values)


def test_graphs_each_with_a_label(
    of_graphs: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    graphs = many_graphs()
    assert of_graphs.report is not None
    assert [column.text for column in of_graphs.report.features] == ["3 numbers", "integers: categories of 2"]
    found = of_graphs.predict(graphs)
    assert list(found.columns()) == ["id", "class", "p(1)"]
    np.testing.assert_allclose(of_graphs.predict(graphs[5]).values, found.values[5:6], rtol=1e-5)
    assert of_graphs.embed(graphs[:2]).values.shape == (2, 8)
    program = Program(monkeypatch, capsys)
    out = tmp_path / "out.parquet"
    assert program("predict", of_graphs.path, of_graphs.path / "data" / "graphs", "--output", out).code == 0
    written = pyarrow.parquet.read_table(out)
    assert written.column_names == ["id", "graph", "y", "class", "p(1)"]
    np.testing.assert_allclose(written.column("p(1)").to_numpy(), found.values[:, 0], rtol=1e-5)
    assert program("evaluate", of_graphs.path).code == 0
    assert program("evaluate", of_graphs.path, "--data", of_graphs.path / "data" / "graphs").code == 0


def test_a_split_is_given_as_parts_or_numbers_of_rows(tmp_path: Path) -> None:
    parts = np.array(["train"] * 40 + ["val"] * 10 + ["test"] * 10)
    numbers = {"train": range(40), "valid": torch.arange(40, 50), "test": np.arange(ROWS) >= 50}
    for split in (parts, numbers):
        stored = store_molecules(tmp_path, SMILES, ACTIVE, split, None)
        _, found = read_own_data(OwnDataOptions(**stored.options)) or (None, None)
        assert found is not None
        assert found.report.split.sizes == {"train": 40, "valid": 10, "test": 10}


def test_files_are_named_as_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    molecules().to_csv("my.csv", index=False)
    model = deepergcn.train(molecules="my.csv", target="y", epochs=1, settings=SMALL)
    assert model.path == Path("runs/own-molecules")
    assert not (model.path / "data").exists()


def small(**options: Any) -> Any:
    return {"epochs": 1, "settings": SMALL, **options}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (small(molecules=SMILES), "molecules: expected target, the column to predict or its values"),
        (small(molecules=SMILES, target="y"), "molecules: there is no column 'y' for the labels"),
        (small(molecules=SMILES, target=["a"] * ROWS), "^molecules: label column 'target' has one class only, 'a'"),
        (small(molecules=SMILES, target=ACTIVE[1:]), "target: column 'target' has 59 values; expected 60"),
        (small(molecules=SMILES, target=ACTIVE, features=["a"]), "^features: cannot be combined with molecules"),
        (small(molecules=SMILES, target=ACTIVE, label="y"), "label: is for graph and graphs"),
        (
            small(molecules=SMILES, target=ACTIVE, graph=pyg()),
            "molecules and graph: cannot be combined; expected one of them",
        ),
        (small(graphs=many_graphs(), label=["yes", "no"] * 30), "label: is .*; expected the name of an attribute of"),
        (small(molecules=SMILES, target=ACTIVE, split=["train"]), "split: has 1 values; expected 60"),
        (small(molecules=SMILES, target=ACTIVE, split={"train": [70]}), "split: 'train' is int64"),
        (small(molecules=SMILES, target=ACTIVE, settings="a=1"), "settings is 'a=1'; expected a list"),
        (small(molecules=SMILES, target=ACTIVE, metric="rmse"), "metric is 'rmse'; expected one of"),
        (small(target=ACTIVE), "target: expected molecules, graph or graphs with it"),
        (small(graph=pyg(), target="y"), "target: is for molecules; expected label with graph"),
        (small(graph=network()), "graph: expected label"),
        (small(graph=many_graphs()), "graph: is of type list; expected Data"),
        (small(graph=HeteroData()), "graph: HeteroData has several types; expected Data, or its tables as files"),
        (small(graph=pyg(), label=np.eye(3)[np.arange(60) % 3]), "as one class that is one-hot encoded"),
        (small(molecules=SMILES, target=np.arange(ROWS) * np.timedelta64(1, "s")), "'target' holds durations"),
        (small(graphs=pyg()), "graphs: are of type Data; expected a list or dataset"),
        (small(graphs=[pyg()] * 3), r"graphs: graph 0 has y of shape \[60\]; expected \[1\] or \[1, targets\]"),
        (small(molecules="no.csv", target="y"), "no.csv: there is no such file"),
        (small(molecules="no.csv", target=ACTIVE), "molecules: names files; expected names of columns"),
    ],
)
def test_what_is_refused_leaves_nothing(options: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem):
        deepergcn.train(**options, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_directory_without_a_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for options in ({}, small(molecules=SMILES, target=ACTIVE), {"resume": True}):
        with pytest.raises(InputError, match=r"^out is ''; expected a run directory"):
            deepergcn.train(**options, out="")
    assert not list(tmp_path.iterdir())


def test_integers_that_may_be_missing_labels_are_asked_for() -> None:
    data = pyg()
    data.y[0] = -1
    with pytest.raises(InputError, match="label: holds -1; expected classes from 0, missing=-1"):
        deepergcn.train(graph=data, epochs=1, settings=SMALL)
    model = deepergcn.train(graph=data, missing=-1, epochs=1, settings=SMALL)
    assert model.report is not None
    assert model.report.targets[0].missing == 1
    assert list(model.report.targets[0].classes) == ["0", "1", "2"]


def test_a_folder_of_data_of_the_user_is_never_removed(tmp_path: Path) -> None:
    mine = tmp_path / "project" / "data" / "mine.csv"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    for target in ("y", "none"):
        with pytest.raises(InputError, match="data: exists already and belongs to no run; expected a new folder"):
            deepergcn.train(molecules=molecules(), target=target, out=tmp_path / "project")
    assert mine.read_text() == "mine"


def test_a_column_that_is_missing_is_told_in_the_words_of_python(of_molecules: Trained) -> None:
    frame = molecules().rename(columns={"smiles": "structure"})
    with pytest.raises(InputError, match="; name another with smiles_column") as error:
        of_molecules.predict(frame)
    assert "--" not in str(error.value)
    with pytest.raises(InputError, match=r"for the ids; .*; name another with id_column"):
        of_molecules.predict(molecules(), id_column="none")


def test_numbers_of_numpy_are_seeds() -> None:
    trained = deepergcn.train(molecules=SMILES, target=ACTIVE, epochs=1, settings=SMALL, seed=np.int64(3))  # type: ignore[arg-type]
    assert trained.run.info.seed == 3
    with pytest.raises(InputError, match=r"seed is 1\.5; expected a whole number"):
        deepergcn.train(molecules=SMILES, target=ACTIVE, epochs=1, settings=SMALL, seed=1.5)  # type: ignore[arg-type]
