"""Training on tables of several types, from the files to predictions, by the program and from Python."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import deepergcn
from deepergcn.data.storage.digest import file_digest
from deepergcn.errors import InputError
from deepergcn.inference.explain import explain
from deepergcn.inference.export import export
from deepergcn.recipes.load import load_recipe
from deepergcn.report.card import write_card
from deepergcn.runs.model.network import build_model
from deepergcn.runs.run import Run
from deepergcn.studies.write_report import write_report
from deepergcn.training.own_data import own_typed_tables
from deepergcn.training.train import train
from tests.cli.program import Program
from tests.data.typed.shop import BUYS, shop
from tests.training.small import repeatable
from tests.training.trained import write_lines

USERS, ITEMS, EDGES = "--nodes user=users.csv", "--nodes item=items.csv", f"--edges {BUYS}=buys.csv"
LABEL = "--label user.happy"
SMALL = ("model.num_layers=2", "model.hidden_channels=16", "model.dropout=0.1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the shop, and a run on them."""
    path = tmp_path_factory.mktemp("shop")
    nodes, edges = shop(path)
    found = own_typed_tables(nodes, edges, label="user.happy")
    settings = (*found.settings, *SMALL, "training.epochs=40")
    train("own-typed-tables", settings=settings, loaded=found.loaded, out=path / "run")
    return path


def tables(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    nodes = {"user": str(folder / "users.csv"), "item": str(folder / "items.csv")}
    return nodes, {BUYS: str(folder / "buys.csv")}


def flags(folder: Path) -> list[object]:
    nodes, edges = tables(folder)
    options: list[object] = []
    for flag, files in (("--nodes", nodes), ("--edges", edges)):
        for name, path in files.items():
            options += [flag, f"{name}={path}"]
    return options


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Program:
    monkeypatch.chdir(tmp_path)
    return Program(monkeypatch, capsys)


def test_a_label_that_only_the_neighbour_of_another_type_tells_is_learned(folder: Path) -> None:
    run = Run.open(folder / "run")
    summary = run.summary()
    assert summary is not None
    assert (summary.metric, summary.valid_score, summary.test_score) == ("rocauc", 1.0, 1.0)
    assert len(run.dynamics()) == 40 * 2
    assert all(row["beta"] is not None for row in run.dynamics())
    scores = deepergcn.load(folder / "run").evaluate()
    assert scores == {"train": 1.0, "valid": 1.0, "test": 1.0}


def test_several_labels_of_a_type_are_separated_by_commas(folder: Path, tmp_path: Path) -> None:
    nodes, edges = tables(folder)
    rows = (folder / "items.csv").read_text().splitlines()
    sizes = ["size", *(f"{0.5 * i}" for i in range(20))]
    nodes["item"] = str(write_lines(tmp_path / "items.csv", *map(",".join, zip(rows, sizes, strict=True))))
    for label in ("item.weight, item.size", ["item.weight", "item.size"]):
        assert own_typed_tables(nodes, edges, label=label).loaded.dataset.label_names == ("weight", "size")
    with pytest.raises(InputError, match=r"items\.csv: there is no column 'height' for the labels"):
        own_typed_tables(nodes, edges, label="item.weight,item.height")


def test_a_split_of_another_type_is_no_feature(folder: Path, tmp_path: Path) -> None:
    nodes, edges = tables(folder)
    rows = (folder / "items.csv").read_text().splitlines()
    parts = ["split", *(("train", "valid", "test")[i % 3] for i in range(20))]
    nodes["item"] = str(write_lines(tmp_path / "items.csv", *map(",".join, zip(rows, parts, strict=True))))
    found = own_typed_tables(nodes, edges, label="user.happy")
    assert [column.name for column in found.report.features] == [
        *("user.age", "item.weight", "item.colour", f"{BUYS}.price")
    ]
    assert [(column.name, column.text) for column in found.report.dropped] == [("item.split", "parts of another split")]


def test_a_directed_graph_keeps_what_flows_the_other_way_from_the_label(folder: Path) -> None:
    nodes, edges = tables(folder)
    with pytest.raises(InputError, match="directed: no type of edges enters 'user'"):
        own_typed_tables(nodes, edges, label="user.happy", directed=True)
    found = own_typed_tables(nodes, edges, label="item.colour", directed=True)
    assert set(found.loaded.dataset.edges) == {("user", "buys", "item")}  # type: ignore[attr-defined]


def test_a_run_that_is_resumed_is_the_same_bit_for_bit(folder: Path, tmp_path: Path) -> None:
    found = own_typed_tables(*tables(folder), label=["user.happy"])
    settings = (*found.settings, *SMALL, "model.dropout=0.5")
    whole = train("own-typed-tables", settings=settings, epochs=5, out=tmp_path / "whole")
    train("own-typed-tables", settings=settings, epochs=2, out=tmp_path / "parts")
    parts = train(resume=True, epochs=5, out=tmp_path / "parts")
    assert repeatable(parts) == repeatable(whole)
    assert file_digest(parts.model_file) == file_digest(whole.model_file)


def test_the_program_predicts_embeds_and_evaluates(folder: Path, program: Program, tmp_path: Path) -> None:
    run = folder / "run"
    answer = program("predict", run, *flags(folder), "--output", "out.csv")
    assert answer.code == 0, answer.err
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "users.csv").open(newline="") as file:
        truth = {row["id"]: row["happy"] for row in csv.DictReader(file)}
    assert {row["id"]: row["class"] for row in rows} == truth
    assert list(rows[0]) == ["id", "class", "p(yes)"]
    answer = program("embed", run, *flags(folder), "--output", "out.npz")
    assert answer.code == 0, answer.err
    with np.load(tmp_path / "out.npz") as arrays:
        assert any(array.shape == (60, 16) for array in arrays.values())
    answer = program("evaluate", run, "--json")
    assert json.loads(answer.out)["test"] == 1.0
    alone = tmp_path / "model.safetensors"
    alone.write_bytes((run / "model.safetensors").read_bytes())
    refused = program("evaluate", alone)
    assert (
        refused.err
        == "error: the network was trained on typed tables; expected its tables by type (--nodes, --edges)\n"
    )
    assert json.loads(program("evaluate", alone, "--json", *flags(folder)).out)["valid"] == 1.0


def test_all_tables_of_data_that_has_changed_are_named(folder: Path, program: Program, tmp_path: Path) -> None:
    nodes, edges = tables(folder)
    items = write_lines(tmp_path / "items.csv", *(folder / "items.csv").read_text().replace("red", "blue", 1).split())
    given = ["--nodes", f"user={nodes['user']}", "--nodes", f"item={items}", "--edges", f"{BUYS}={edges[BUYS]}"]
    assert program("evaluate", folder / "run", *given).err == (
        f"error: {nodes['user']} or {items} or {edges[BUYS]}: is not the training data, or its files have changed "
        "since training\n"
    )


def test_new_users_are_predicted_by_what_they_bought(folder: Path, tmp_path: Path) -> None:
    users = write_lines(tmp_path / "users.csv", "id,age", "new,30", "other,31")
    buys = write_lines(tmp_path / "buys.csv", "source,target,price", "new,i1,0.5", "other,i2,0.5")
    model = deepergcn.load(folder / "run")
    nodes = {"user": users, "item": folder / "items.csv"}
    found = model.predict(nodes, {("user", "buys", "item"): buys}).columns()
    assert (found["id"], found["class"]) == (["new", "other"], ["yes", "no"])


def test_report_and_card(folder: Path, tmp_path: Path) -> None:
    pages = write_report([folder / "run"], out=tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert pages
    assert "HeteroDeeperGCN" in text
    assert "rocauc" in text
    card = write_card(Run.open(folder / "run"), tmp_path / "card").read_text(encoding="utf-8")
    assert "HeteroDeeperGCN, 2 layers, 16 channels" in card
    assert "--nodes user=nodes-1.csv --nodes item=nodes-2.csv --edges user,buys,item=edges-1.csv" in card
    assert deepergcn.load(tmp_path / "card").task.metric == "rocauc"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["model.checkpoint=true"], "recipe own-typed-tables: model: HeteroDeeperGCN has no option checkpoint"),
        (["model.block=rev"], "recipe own-typed-tables: model: HeteroDeeperGCN has no option block"),
        (["model.virtual_node=true"], "HeteroDeeperGCN has no option virtual_node"),
        (["model.node_encoder=species"], "node_encoder is species; expected auto for HeteroDeeperGCN"),
        (["model.edge_encoder=shared"], "edge_encoder is shared; expected auto or layer or none for HeteroDeeperGCN"),
        (["model.network=DyResGEN"], "model.network is DyResGEN; expected HeteroDeeperGCN for typed tables"),
        (["data.transforms=[undirected]"], r"transform undirected: users\.csv has types of nodes and edges"),
        (
            ["training.partitions=2"],
            "partitions is 2; expected 1, since a graph with types is not partitioned",
        ),
        (
            ["training.memory=2GB"],
            "training.memory: cannot be used with typed tables, whose network does not recompute layers",
        ),
        (["training.flag_ascents=2"], "training.flag_ascents: expected 0, since every node type has its own encoder"),
        (["data.source=other.csv"], "expected source to be one of tables.nodes"),
        (["data.edges=other.csv"], "expected source to be one of tables.nodes, and no data.edges together with tables"),
        (['data.options.label="user.sad"'], "there is no column 'sad' for the labels"),
        (["data.options.root=/"], "typed tables: has no option 'root'; its options: label, id_column"),
        (["data.options.directed=maybe"], "typed tables: option 'directed' is 'maybe'"),
    ],
)
def test_what_a_typed_network_does_not_have_is_one_line(
    settings: list[str], message: str, folder: Path, tmp_path: Path
) -> None:
    recipe = Run.open(folder / "run").path / "recipe.yaml"
    with pytest.raises(InputError, match=message) as caught:
        train(recipe, settings=[*settings, "training.epochs=1"], out=tmp_path / "run")
    assert "\n" not in str(caught.value)


def test_export_and_plain_inputs_are_refused(folder: Path, program: Program, tmp_path: Path) -> None:
    model = deepergcn.load(folder / "run")
    with pytest.raises(InputError, match="a network for typed tables cannot be exported"):
        export(model, tmp_path / "model.onnx", "onnx")
    assert list(tmp_path.iterdir()) == []
    nodes, edges = tables(folder)
    with pytest.raises(InputError, match="a network for typed tables cannot be explained"):
        explain(model, nodes, edges)
    with pytest.raises(InputError, match="--nodes user=FILE --nodes item=FILE --edges user,buys,item=FILE"):
        model.predict(nodes["user"], edges[BUYS])
    plain = model.info.inputs.model_copy(update={"typed": None})
    with pytest.raises(InputError, match="HeteroDeeperGCN; expected another, since the graph has no types"):
        build_model(model.recipe, plain)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (f"{USERS} {LABEL}", "--nodes: gives a file for each type; expected --edges SOURCE,RELATION,TARGET=FILE too"),
        (f"{EDGES} {LABEL}", "--edges: gives a file for each type; expected --nodes TYPE=FILE too"),
        (f"--nodes users.csv {ITEMS} {EDGES}", "--nodes is 'users.csv'; expected TYPE=FILE for each of several"),
        (f"{USERS} --nodes user=items.csv", "--nodes: the type 'user' is named twice"),
        (f"--nodes user= {ITEMS}", "--nodes is 'user='; expected TYPE=FILE"),
        ("--nodes =users.csv", "--nodes is '=users.csv'; expected TYPE=FILE"),
        (f"{USERS} {ITEMS} --edges buys=buys.csv {LABEL}", "edge type 'buys': expected source type, relation and"),
        (f"{USERS} {ITEMS} {EDGES}", "--nodes: expected --label with the column to predict"),
        (f"{USERS} {ITEMS} {EDGES} {LABEL} --split scaffold", "there is no column 'scaffold' for the split"),
        (f"{USERS} {ITEMS} {EDGES} {LABEL} --drop age", "--drop: cannot be combined with types of nodes and edges"),
        (f"{USERS} {ITEMS} {EDGES} {LABEL} --metric rmse", "metric is 'rmse'; expected one of rocauc"),
        (f"{USERS} {ITEMS} {EDGES} --links buys.csv", "--links: cannot be combined with types of nodes and edges"),
        (f"{USERS} {ITEMS} {EDGES} {LABEL} --target x", "--target: cannot be combined with --nodes and --edges"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(
    arguments: str, message: str, folder: Path, program: Program, tmp_path: Path
) -> None:
    program.monkeypatch.chdir(folder)
    answer = program("train", *arguments.split(), "--out", tmp_path / "run")
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("error: ")


def test_wrong_inputs_of_predict_are_one_line(folder: Path, program: Program) -> None:
    for given, message in (
        ([], "INPUT is missing; expected a file, folder or dataset name, or --nodes TYPE=FILE for each node type"),
        ([folder / "users.csv", *flags(folder)], "--nodes TYPE=FILE: cannot be combined with "),
        ([folder / "users.csv", "--edges", folder / "buys.csv"], "the network was trained on typed tables; expected"),
        (flags(folder)[:2], "--nodes: gives a file for each type; expected --edges"),
        ([*flags(folder), "--nodes", f"shop={folder / 'items.csv'}"], "node type 'shop': has no edges"),
    ):
        answer = program("predict", folder / "run", *given, "--output", "out.csv")
        assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
        assert message in answer.err


def test_types_of_any_name_with_spaces_and_unicode(folder: Path, program: Program, tmp_path: Path) -> None:
    nodes, edges = tables(folder)
    given = ["--nodes", f"Büro user={nodes['user']}", "--nodes", f"items={nodes['item']}"]
    given += ["--edges", f"Büro user, kauft.ein ,items={edges[BUYS]}"]
    small = [part for setting in SMALL for part in ("--set", setting)]
    answer = program("train", *given, "--label", "Büro user.happy", *small, "--epochs", "2", "--out", "mein lauf")
    assert answer.code == 0, answer.err
    assert (
        "messages also pass in reverse, over the edge types items,rev_kauft.ein,Büro user; --directed turns"
        in answer.out
    )
    assert "features  Büro user.age (number)" in answer.out
    report = Run.open(tmp_path / "mein lauf").data_report()
    assert report is not None
    assert report.targets[0].name == "happy"
    answer = program("predict", "mein lauf", *given, "--output", "out.csv")
    assert answer.code == 0, answer.err
    answer = program("train", "--resume", "--out", "mein lauf", "--epochs", "3")
    assert answer.code == 0, answer.err
    assert len(Run.open(tmp_path / "mein lauf").metrics()) == 3


def test_the_recipe_stands_for_the_command(folder: Path) -> None:
    recipe = load_recipe("own-typed-tables")
    assert recipe.data.tables is not None
    assert set(recipe.data.tables.nodes) == {"user", "item"}
