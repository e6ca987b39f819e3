"""What a network that was trained on links says: pairs in and scores out, evaluation, embeddings, report and export."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from deepergcn.errors import InputError
from deepergcn.inference.explain import explain
from deepergcn.inference.export import export
from deepergcn.inference.outcomes import find_outcomes
from deepergcn.inference.predictor import load
from deepergcn.report.card import write_card
from deepergcn.runs.run import Run
from deepergcn.training.own_data import own_links
from deepergcn.training.train import train
from tests.cli.program import Program
from tests.data.links.tables import edges_file, links_file, nodes_file, write

SMALL = ("model.hidden_channels=8", "model.num_layers=2", "training.epochs=1", "training.batch_size=60")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and two trained runs: ``featured`` with features, and ``bare`` on links alone."""
    place = tmp_path_factory.mktemp("links")
    links, nodes, edges = links_file(place), nodes_file(place), edges_file(place)
    for name, tables in (("featured", (nodes, edges)), ("bare", ())):
        found = own_links(links, *tables, negatives=2, root=place)
        train("own-links", settings=(*found.settings, *SMALL), loaded=found.loaded, out=place / name)
    write(place / "pairs.csv", ("source", "target", "note"), [("n3", "n4", "x"), ("n9", "n1", "y"), ("n4", "n3", "z")])
    return place


@pytest.mark.parametrize("name", ["featured", "bare"])
def test_every_pair_has_a_score_that_knows_no_direction(folder: Path, name: str) -> None:
    model = load(folder / name)
    predictions = model.predict(folder / "pairs.csv")
    columns = predictions.columns()
    assert list(columns) == ["source", "target", "score"]
    assert columns["source"] == ["n3", "n9", "n4"]
    scores = columns["score"]
    assert scores[0] == scores[2] != scores[1]
    assert all(0 < score < 1 for score in scores)
    assert model.predict([("n3", "n4"), ("n9", "n1")]).columns()["score"] == scores[:2]
    predictions.write(folder / f"{name}.csv")
    with (folder / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["note"] for row in rows] == ["x", "y", "z"]
    assert float(rows[0]["score"]) == pytest.approx(scores[0], rel=1e-5)


def test_a_network_for_links_is_not_explained(folder: Path) -> None:
    with pytest.raises(InputError, match="a network for links cannot be explained"):
        explain(load(folder / "featured"), folder / "pairs.csv")


def test_a_pair_of_the_test_part_is_predicted_as_it_was_scored(folder: Path) -> None:
    model = load(folder / "featured")
    dataset, outcomes = model.dataset(), find_outcomes(folder / "featured")
    items = dataset.split["test"]
    assert dataset.pairs is not None
    pairs = [(dataset.node_ids[u], dataset.node_ids[v]) for u, v in dataset.pairs[:, items].T.tolist()]
    assert outcomes.ids[:2] == tuple(f"{u} - {v}" for u, v in pairs[:2])
    found = model.predict(pairs).values[:, 0]
    np.testing.assert_allclose(found, outcomes.values[:, 0], rtol=1e-5)


def test_the_same_graph_named_again_has_the_same_scores(folder: Path) -> None:
    """Its edges are those of training but for the ones that join valid or test links, which are given as they are."""
    model = load(folder / "featured")
    dataset = model.dataset()
    kept = [(dataset.node_ids[u], dataset.node_ids[v]) for u, v in dataset.edge_index.T.tolist()]
    with (folder / "edges.csv").open() as file:
        rows = [row for row in csv.reader(file) if tuple(row[:2]) in kept]
    edges = write(folder / "kept.csv", ("source", "target", "weight"), rows)
    alone = load(folder / "featured" / "model.safetensors")
    again = alone.predict(folder / "pairs.csv", edges, nodes=folder / "nodes.csv")
    np.testing.assert_allclose(again.values, model.predict(folder / "pairs.csv").values, rtol=1e-5)


def test_nodes_are_embedded(folder: Path) -> None:
    model = load(folder / "featured")
    found = model.embed(folder / "nodes.csv")
    assert found.ids[:2] == ("n0", "n1")
    assert found.values.shape == (30, 8)
    some = model.embed(["n5", "n0"])
    np.testing.assert_array_equal(some.values, found.values[[5, 0]])
    head = model.network.head
    assert head is not None
    score = torch.sigmoid(head(torch.from_numpy(found.values), torch.tensor([[3], [4]])))
    assert float(score.detach()) == pytest.approx(model.predict([("n3", "n4")]).columns()["score"][0], rel=1e-5)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


def test_all_metrics_are_evaluated_on_the_command_line(folder: Path, program: Program) -> None:
    names = ("rocauc", "ap", "hits@20", "mrr")
    flags = [flag for name in names for flag in ("--metric", name)]
    out = program("evaluate", str(folder / "featured"), *flags, "--json").out
    scores = json.loads(out)["scores"]
    assert set(scores) == {"train", "valid", "test"}
    for part in scores.values():
        assert set(part) == set(names)
        assert all(0 <= found["score"] <= 1 for found in part.values())
    summary = Run.open(folder / "featured").summary()
    assert summary is not None
    assert scores["test"]["rocauc"]["score"] == pytest.approx(summary.test_score, abs=1e-6)


def test_a_category_not_seen_in_training_can_be_none_of_the_known(folder: Path, program: Program) -> None:
    other = folder / "other.csv"
    other.write_text((folder / "nodes.csv").read_text() + "new,0.5,c\n")
    pairs = write(folder / "with_new.csv", ("source", "target"), [("n3", "new")])
    graph = ("--nodes", other, "--edges", folder / "edges.csv")
    done = program("predict", folder / "featured", pairs, *graph, "-o", folder / "new.csv")
    assert "other.csv: row 31: column 'kind' is 'c', a category not seen in training" in done.err
    done = program("predict", folder / "featured", pairs, *graph, "--unseen", "other", "-o", folder / "new.csv")
    assert done.code == 0, done.err
    done = program("embed", folder / "featured", other, *graph, "--unseen", "other", "-o", folder / "new.npz")
    assert "31 rows of 8 channels" in done.out


def test_predict_and_embed_on_the_command_line(folder: Path, program: Program) -> None:
    out = program("predict", str(folder / "bare"), str(folder / "pairs.csv"), "-o", str(folder / "out.csv")).out
    assert "out.csv: 3 rows" in out
    assert (folder / "out.csv").read_text().startswith("source,target,note,score\n")
    out = program("embed", str(folder / "bare"), str(folder / "nodes.csv"), "-o", str(folder / "out.npz")).out
    assert "30 rows of 8 channels" in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("evaluate", "featured", "--metric", "hits@50"), "metric hits@50: there are 24 pairs without a link"),
        (("evaluate", "featured", "--metric", "f1"), "metric is 'f1'; expected one of rocauc, ap, hits@20"),
        (("evaluate", "model.safetensors"), "is not read for a model file alone"),
        (
            ("evaluate", "featured", "--data", "links.csv"),
            "is not the training data, or its files have changed since training",
        ),
        (("predict", "featured", "nodes.csv"), "nodes.csv: there is no column 'source' for the links"),
        (("predict", "featured", "missing.csv"), "missing.csv: there is no such file"),
        (
            ("predict", "featured", "unknown.csv"),
            "unknown.csv: row 1: target 'who' is not the id of a node in links.csv",
        ),
        (("predict", "featured", "self.csv"), "self.csv: row 1: links 'n1' with itself"),
        (("predict", "featured", "empty.csv"), "empty.csv: has no rows; expected two nodes in each"),
        (("predict", "model.safetensors", "pairs.csv"), "a model file has no graph; expected the tables"),
        (
            ("predict", "featured", "pairs.csv", "--nodes", "nodes.csv"),
            "--edges: expected the tables of nodes and of edges",
        ),
        (
            ("predict", "featured", "pairs.csv", "--edges", "edges.csv"),
            "--nodes: expected the tables of nodes and of edges",
        ),
        (
            ("predict", "featured", "pairs.csv", "--nodes", "thin.csv", "--edges", "edges.csv"),
            "thin.csv: there is no column 'size' for the features",
        ),
        (
            ("predict", "bare", "pairs.csv", "--nodes", "nodes.csv", "--edges", "edges.csv"),
            "the network has learned an embedding for each node of its training graph",
        ),
        (
            ("embed", "featured", "unknown.csv", "--id-column", "target"),
            "row 1: 'who' is not the id of a node in links.csv",
        ),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], expected: str, folder: Path, program: Program) -> None:
    shutil.copy(folder / "featured" / "model.safetensors", folder / "model.safetensors")
    write(folder / "unknown.csv", ("source", "target"), [("n1", "who")])
    write(folder / "self.csv", ("source", "target"), [("n1", "n1")])
    write(folder / "empty.csv", ("source", "target"), [])
    write(folder / "thin.csv", ("id",), [(f"n{i}",) for i in range(30)])
    places = [str(folder / name) if "." in name or name in ("featured", "bare") else name for name in arguments]
    output = {"predict": ["-o", str(folder / "o.csv")], "embed": ["-o", str(folder / "o.npz")]}.get(arguments[0], [])
    done = program(*places, *output)
    assert done.code == 2
    assert expected in done.err
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("n1", "who")], "pair 1: 'who' is not the id of a node"),
        ([("n1", "n2"), ("n1", "n1")], "pair 2: links 'n1' with itself"),
        (["n1", "n2"], "a pair to predict does not have two ids"),
        ([], "the pairs: has no rows; expected two nodes in each"),
    ],
)
def test_a_list_of_pairs_is_checked(pairs: list[tuple[str, str]], expected: str, folder: Path) -> None:
    with pytest.raises(InputError, match=expected):
        load(folder / "featured").predict(pairs)


def test_the_card_says_what_is_predicted(folder: Path) -> None:
    card = write_card(Run.open(folder / "featured"), folder / "card").read_text()
    assert "link-level binary" in card
    assert "deepergcn predict FOLDER pairs.csv --nodes nodes.csv --edges edges.csv --output" in card
    assert "run directory" not in card
    model = load(folder / "card")
    assert model.task.level == "link"
    assert 'model.predict("pairs.csv", "edges.csv", nodes="nodes.csv").columns()' in card
    assert len(model.predict(folder / "pairs.csv", folder / "edges.csv", nodes=folder / "nodes.csv").ids) == 3
    bare = write_card(Run.open(folder / "bare"), folder / "bare_card").read_text()
    assert "an embedding for each node of its graph and needs its run directory" in bare


def test_the_export_gives_the_scores_of_the_run(folder: Path) -> None:
    model = load(folder / "featured")
    names = export(model, folder / "links.pt2", "torch-export")
    assert names == ("x", "edge_index", "edge_attr", "edge_label_index")
    graph = model.dataset().graph(0)
    ids = model.dataset().node_ids
    pairs = torch.tensor([[3, 9, 4], [4, 1, 3]])
    inputs = (graph.x, graph.edge_index, graph.edge_attr, pairs)
    exported = torch.export.load(folder / "links.pt2").module()(*inputs)
    expected = model.predict([(ids[u], ids[v]) for u, v in pairs.T.tolist()]).values
    np.testing.assert_allclose(exported.detach().numpy(), expected, rtol=1e-4)
