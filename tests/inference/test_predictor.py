"""A trained network at work: order, gaps, names, and what it refuses."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import torch
from torch_geometric.data import Batch

import deepergcn
from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.read import read_molecules
from deepergcn.data.ogb.layout_writer import write_layout
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.inference.predictor import load
from tests.training.trained import EDGE_HEADER, make_run, molecule_file, small_recipe, table_files, write_lines


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))


def molecule_run(folder: Path, kind: str = "classes") -> Path:
    return make_run(folder, small_recipe(molecule_file(folder, kind), targets=["target"], smiles_column="smiles"))


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def outputs_one_by_one(run: Path, smiles: list[str], folder: Path) -> torch.Tensor:
    """The definition: every molecule on its own, through PyG's own batch."""
    model = deepergcn.load(run)
    file = write_lines(folder / "one_by_one.csv", "smiles,t", *(f"{s},{i % 2}" for i, s in enumerate(smiles)))
    dataset = read_molecules(file, targets="t")
    with torch.no_grad():
        return torch.cat([model.network(Batch.from_data_list([dataset.graph(i)])) for i in range(len(smiles))])


def test_rows_keep_their_order_and_those_that_cannot_be_read_are_empty(tmp_path: Path) -> None:
    run = molecule_run(tmp_path)
    rows = ['"x, 1",CCCO', "é,not a molecule", "x3,", "x4,c1ccccc1", "x4,CCCO", "x6,C(C"]
    data = write_lines(tmp_path / "new.csv", "key,smiles", *rows)
    predictions = load(run).predict(data, id_column="key", skipped_file=tmp_path / "skipped.csv")
    predictions.write(tmp_path / "out.csv")
    out = read_csv(tmp_path / "out.csv")
    assert [row["id"] for row in out] == ["x, 1", "é", "x3", "x4", "x4", "x6"]
    assert list(out[0]) == ["id", "key", "smiles", "class", "p(high)", "p(low)", "p(none)"]
    assert [row["smiles"] for row in out] == ["CCCO", "not a molecule", "", "c1ccccc1", "CCCO", "C(C"]
    assert [any(row[name] for name in list(row)[3:]) for row in out] == [True, False, False, True, True, False]
    assert [row.row for row in predictions.skipped] == [2, 3, 6]
    assert [row["row"] for row in read_csv(tmp_path / "skipped.csv")] == ["2", "3", "6"]
    expected = outputs_one_by_one(run, ["CCCO", "c1ccccc1", "CCCO"], tmp_path).softmax(1)
    torch.testing.assert_close(torch.from_numpy(predictions.values[[0, 3, 4]]), expected)
    best = [("high", "low", "none")[i] for i in expected.argmax(1).tolist()]
    assert [out[i]["class"] for i in (0, 3, 4)] == best
    assert float(out[3]["p(low)"]) == pytest.approx(float(expected[1, 1]), rel=1e-5)


def test_without_an_id_column_the_smiles_are_the_ids(tmp_path: Path) -> None:
    data = write_lines(tmp_path / "new.csv", "smiles", "CCO", "?")
    assert load(molecule_run(tmp_path)).predict(data).ids == ("CCO", "?")


def test_two_classes_have_their_own_names(tmp_path: Path) -> None:
    run = molecule_run(tmp_path, "binary")
    columns = load(run).predict(["CCO", "no molecule", "CCCCN"]).columns()
    assert list(columns) == ["id", "class", "p(yes)"]
    assert columns["class"][1] is columns["p(yes)"][1] is None
    for name, score in zip(columns["class"], columns["p(yes)"], strict=True):
        assert score is None or name == ("yes" if score > 0.5 else "no")
    expected = outputs_one_by_one(run, ["CCO", "CCCCN"], tmp_path).sigmoid()[:, 0]
    assert [columns["p(yes)"][0], columns["p(yes)"][2]] == pytest.approx(expected.tolist(), rel=1e-5)


def test_numbers_come_in_the_units_of_the_target(tmp_path: Path) -> None:
    run = molecule_run(tmp_path, "numbers")
    columns = load(run).predict(["CCO", "CCN"]).columns()
    assert list(columns) == ["id", "target"]
    assert columns["target"] == pytest.approx(
        outputs_one_by_one(run, ["CCO", "CCN"], tmp_path)[:, 0].tolist(), rel=1e-5
    )


def test_several_labels_have_a_class_and_a_score_each(tmp_path: Path) -> None:
    rows = [f"{'C' * (i + 1)}O,{i % 2},{'ab'[i % 3 == 0]}" for i in range(12)]
    data = write_lines(tmp_path / "two.csv", "smiles,toxic,group", *rows)
    run = make_run(tmp_path, small_recipe(data, targets=["toxic", "group"]))
    columns = load(run).predict(["CCO"]).columns()
    assert list(columns) == ["id", "class(toxic)", "p(toxic=1)", "class(group)", "p(group=b)"]
    assert columns["class(toxic)"][0] in ("0", "1")
    assert columns["class(group)"][0] in ("a", "b")


def test_a_model_file_alone_predicts_the_same(tmp_path: Path) -> None:
    run = molecule_run(tmp_path)
    moved = tmp_path / "elsewhere.safetensors"
    moved.write_bytes((run / "model.safetensors").read_bytes())
    np.testing.assert_array_equal(load(moved).predict(["CCO"]).values, load(run).predict(["CCO"]).values)


def test_nodes_of_new_tables(tmp_path: Path) -> None:
    nodes, edges = table_files(tmp_path)
    run = make_run(tmp_path, small_recipe(nodes, edges, label="y", standardize=True))
    new = write_lines(tmp_path / "new.csv", "colour,id,weight", "blue,k2,0.5", ",k1,", "red,k3,-1")
    links = write_lines(tmp_path / "links.csv", EDGE_HEADER, "k1,k2,0.5", "k3,k1,0.25")
    predictions = load(run).predict(new, links)
    assert predictions.ids == ("k2", "k1", "k3")
    assert list(predictions.columns()) == ["id", "class", "p(a)", "p(b)", "p(c)"]
    np.testing.assert_allclose(predictions.values.sum(1), 1.0, rtol=1e-6)
    turned = write_lines(tmp_path / "turned.csv", "colour,id,weight", "red,k3,-1", ",k1,", "blue,k2,0.5")
    again = load(run).predict(turned, links)
    np.testing.assert_allclose(again.values[::-1], predictions.values[[0, 1, 2]], rtol=1e-5)


def test_embeddings_are_what_the_head_gets(tmp_path: Path) -> None:
    run = molecule_run(tmp_path)
    model = load(run)
    embeddings = model.embed(["CCO", "no molecule", "CCCN"])
    assert embeddings.values.shape == (3, 8)
    assert np.isnan(embeddings.values[1]).all()
    assert isinstance(model.network.head, torch.nn.Linear)
    outputs = model.network.head(torch.from_numpy(embeddings.values[[0, 2]])).detach()
    torch.testing.assert_close(outputs, outputs_one_by_one(run, ["CCO", "CCCN"], tmp_path))
    embeddings.write(tmp_path / "e.npz")
    with np.load(tmp_path / "e.npz", allow_pickle=False) as file:
        assert file["id"].tolist() == ["CCO", "no molecule", "CCCN"]
        np.testing.assert_array_equal(file["embedding"], embeddings.values)
    embeddings.write(tmp_path / "e.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "e.parquet").to_pydict()
    assert table["id"] == ["CCO", "no molecule", "CCCN"]
    assert table["embedding"][1] is None
    np.testing.assert_array_equal(np.array(table["embedding"][2], dtype=np.float32), embeddings.values[2])


def test_predictions_as_parquet(tmp_path: Path) -> None:
    predictions = load(molecule_run(tmp_path)).predict(["CCO", "no molecule"])
    predictions.write(tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pydict() == predictions.columns()


def test_evaluation_scores_the_parts_of_the_training_data(tmp_path: Path) -> None:
    rows = [f"{'C' * (i + 1)}O,{i % 2},{('train', 'valid', 'test')[i % 3]}" for i in range(12)]
    data = write_lines(tmp_path / "parts.csv", "smiles,target,part", *rows)
    run = make_run(tmp_path, small_recipe(data, targets=["target"], split_column="part"))
    outputs = outputs_one_by_one(run, [f"{'C' * (i + 1)}O" for i in range(12)], tmp_path)[:, 0]
    scores = load(run).evaluate(["valid", "test"])
    assert list(scores) == ["valid", "test"]
    for part, first in (("valid", 1), ("test", 2)):
        labels = torch.arange(first, 12, 3) % 2
        of_part = outputs[first::3]
        pairs = of_part[labels == 1][:, None] > of_part[labels == 0]
        assert scores[part] == pytest.approx(float(pairs.float().mean()))


def test_data_that_has_changed_is_not_scored(tmp_path: Path) -> None:
    run = molecule_run(tmp_path)
    with (tmp_path / "classes.csv").open("a") as file:
        file.write("m12,CCN,high\n")
    with pytest.raises(
        InputError, match=r"classes\.csv: is not the training data, or its files have changed since training"
    ):
        load(run).evaluate()


def test_a_dataset_in_memory(tmp_path: Path) -> None:
    run = molecule_run(tmp_path)
    dataset = read_molecules(tmp_path / "classes.csv", targets="target")
    np.testing.assert_array_equal(
        load(run).predict(dataset).values, load(run).predict([f"{'C' * (i + 1)}O" for i in range(12)]).values
    )


def refused(call: Any, *words: str) -> None:
    with pytest.raises(InputError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_wrong_inputs_are_named(tmp_path: Path) -> None:
    run = molecule_run(tmp_path)
    model = load(run)
    refused(lambda: load(tmp_path / "nowhere"), "nowhere", "no such run directory")
    refused(lambda: load(tmp_path), "run.json", "expected")
    refused(lambda: model.predict(tmp_path / "missing.csv"), "missing.csv", "no such file")
    data = write_lines(tmp_path / "new.csv", "Molecule", "CCO")
    refused(lambda: model.predict(data), "new.csv", "'smiles'", "'Molecule'")
    refused(lambda: model.predict(data, smiles_column="Mol"), "'Mol'", "'Molecule'")
    refused(lambda: model.predict(data, smiles_column="Molecule", id_column="key"), "'key'")
    refused(lambda: model.predict(["?"]), "molecules: no row can be read; row 1 is '?'")
    refused(lambda: model.evaluate(["holdout"]), "'holdout'", "train, valid, test")
    predictions = model.predict(["CCO"])
    refused(lambda: predictions.write(tmp_path / "out.xlsx"), "out.xlsx", ".csv or .parquet")
    refused(lambda: predictions.write(tmp_path / "no" / "out.csv"), "does not exist")
    (run / "model.safetensors").unlink()
    refused(lambda: load(run), "model.safetensors", "does not exist yet")


def test_a_folder_of_seeds_with_one_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "several").mkdir()
    molecule_run(tmp_path).rename(tmp_path / "several" / "seed-0")
    refused(lambda: load(tmp_path / "several"), "has 1 trained seeds", "expected at least 2 to average")
    assert load(tmp_path / "several" / "seed-0").predict(["CCO"]).ids == ("CCO",)


def test_a_folder_in_ogbs_layout_in_more_partitions_than_it_has_nodes(tmp_path: Path) -> None:
    features = torch.rand(6, 3, generator=torch.Generator().manual_seed(0))
    dataset = Dataset(
        name="small",
        task=Task("node", "multi-label", 2, "rocauc"),
        node_ptr=torch.tensor([0, 6]),
        edge_ptr=torch.tensor([0, 6]),
        edge_index=torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]),
        symmetric=True,
        y=torch.tensor([[0.0, 1.0]]).repeat(6, 1),
        split={"train": torch.arange(2), "valid": torch.tensor([3]), "test": torch.tensor([5])},
        digest="",
        edge_attr=features,
    )
    folder = tmp_path / "layout"
    write_layout(dataset, folder)
    settings = ["evaluation.partitions=50", "evaluation.draws=2", 'data.transforms=["node-features-from-edges"]']
    model = load(make_run(tmp_path, small_recipe(folder, settings=settings)))
    predictions = model.predict(folder)
    assert predictions.ids == tuple("012345")
    assert list(predictions.columns()) == ["id", "class(0)", "p(0=1)", "class(1)", "p(1=1)"]
    # Every node is a partition of its own: it hears of no other.
    x = torch.zeros(6, 3).index_add_(0, dataset.edge_index.T.flatten(), features.repeat_interleave(2, dim=0))
    alone = model.network(x, torch.empty(2, 0, dtype=torch.int64), torch.empty(0, 3)).sigmoid().detach()
    torch.testing.assert_close(torch.from_numpy(predictions.values), alone)


def test_data_of_another_kind_is_refused(tmp_path: Path) -> None:
    nodes, edges = table_files(tmp_path)
    tables = make_run(tmp_path, small_recipe(nodes, edges, label="y"))
    refused(lambda: load(tables).predict(["CCO"]), "not trained on molecules")
    refused(lambda: load(tables).predict(edges, nodes), "edges.csv", "'id'")
    molecules = tmp_path / "molecules"
    molecules.mkdir()
    model = load(molecule_run(molecules))
    graph: Dataset = deepergcn.data.read_tables(nodes, edges, label="y")
    refused(lambda: model.predict(graph), "has a task on nodes; the network predicts graphs")


def test_outputs_that_are_not_finite_are_no_prediction(tmp_path: Path) -> None:
    model = load(molecule_run(tmp_path))
    with torch.no_grad():
        next(model.network.parameters()).fill_(torch.inf)
    refused(lambda: model.predict(["CCO"]), "not finite")


def test_ids_are_as_json_safe_as_they_came(tmp_path: Path) -> None:
    ids = ['quote"d', "comma,", "line\nbreak", " space "]
    data = tmp_path / "new.csv"
    with data.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["key", "smiles"], *([key, "CCO"] for key in ids)])
    predictions = load(molecule_run(tmp_path)).predict(data, id_column="key")
    predictions.write(tmp_path / "out.csv")
    assert [row["id"] for row in read_csv(tmp_path / "out.csv")] == [key.strip() for key in ids]
    assert json.loads(json.dumps(predictions.ids)) == [key.strip() for key in ids]
