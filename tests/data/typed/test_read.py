"""Tables of several types become one typed graph, and every mistake in them is one line that says what was expected."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from deepergcn.data import TypedDataset, apply_transforms, read_tables, read_typed_tables, read_typed_tables_to_predict
from deepergcn.data.batching.sources import batch_source
from deepergcn.data.provenance import ADAPTER
from deepergcn.errors import InputError
from tests.data.typed.shop import BUYS, shop
from tests.training.trained import write_lines

LABEL: dict[str, Any] = {"label": "user.happy"}


def small(folder: Path, **changes: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Three users, two items, and four purchases, one of them twice; ``changes`` replace the text of a table."""
    texts = {
        "users": "id,age,happy\na,1,yes\nb,2,no\nc,4,yes",
        "items": "id,colour\na,red\nx,blue",
        "buys": "source,target,price\na,x,1\nb,a,2\nc,a,3\nb,a,2",
        "knows": "source,target\na,b\nb,a\nc,c",
        **changes,
    }
    folder.mkdir(exist_ok=True)
    files = {name: write_lines(folder / f"{name}.csv", *text.split("\n")) for name, text in texts.items()}
    nodes = {"user": files["users"], "item": files["items"]}
    return nodes, {BUYS: files["buys"], "user,knows,user": files["knows"]}


def test_the_graph_of_small_tables(tmp_path: Path) -> None:
    dataset = read_typed_tables(*small(tmp_path), **LABEL)
    assert (dataset.target, dataset.num_items, dataset.ids) == ("user", 3, ("a", "b", "c"))
    assert dataset.features["user"].tolist() == [[1.0], [2.0], [4.0]]
    assert dataset.features["item"].tolist() == [[0.0, 1.0], [1.0, 0.0]]  # blue, red
    assert dataset.y.tolist() == [[1.0], [0.0], [1.0]]
    edges = {
        key: (e.edge_index.tolist(), None if e.edge_attr is None else e.edge_attr.tolist())
        for key, e in dataset.edges.items()
    }
    prices = [[1.0], [2.0], [3.0]]
    assert edges == {
        ("user", "buys", "item"): ([[0, 1, 2], [1, 0, 0]], prices),
        ("item", "rev_buys", "user"): ([[1, 0, 0], [0, 1, 2]], prices),
        ("user", "knows", "user"): ([[0, 1, 2], [1, 0, 2]], None),
    }
    directed = read_typed_tables(*small(tmp_path), **LABEL, directed=True)
    assert set(directed.edges) == {("user", "buys", "item"), ("user", "knows", "user")}
    assert directed.edges["user", "knows", "user"].edge_index.tolist() == [[0, 1, 2], [1, 0, 2]]


def test_with_one_type_features_labels_and_split_are_those_of_plain_tables(tmp_path: Path) -> None:
    nodes, _ = shop(tmp_path)
    knows = write_lines(tmp_path / "knows.csv", "source,target", *(f"u{i},u{i * 7 % 60}" for i in range(60)))
    plain = read_tables(nodes["user"], knows, label="happy", standardize=True, seed=3)
    typed = read_typed_tables(
        {"user": nodes["user"]}, {("user", "knows", "user"): knows}, label="user.happy", standardize=True, seed=3
    )
    assert plain.x is not None
    assert_close(typed.features["user"], plain.x, rtol=0, atol=0)
    assert torch.equal(typed.y, plain.y)
    assert all(torch.equal(typed.split[part], plain.split[part]) for part in plain.split)
    assert plain.task == typed.task
    both = {tuple(pair) for pair in plain.graph(0).edge_index.T.tolist()}
    assert {tuple(pair) for pair in typed.edges["user", "knows", "user"].edge_index.T.tolist()} == both


def test_other_tables_are_read_in_the_same_way(tmp_path: Path) -> None:
    dataset = read_typed_tables(*small(tmp_path), **LABEL, standardize=True)
    record = ADAPTER.validate_json(ADAPTER.dump_json(dataset.provenance))
    assert record == dataset.provenance
    others = small(
        tmp_path / "others",
        users="age,id\n8,d\n,e",
        items="colour,id\ngreen,x",
        buys="price,target,source\n2,x,e",
        knows="source,target",
    )
    read = read_typed_tables_to_predict(*others, provenance=record, unseen="other")
    ages = dataset.features["user"][:, 0]
    step = float((ages[2] - ages[1]) / 2)  # of one year
    assert_close(read.features["user"][:, 0], torch.stack([ages[2] + 4 * step, torch.tensor(0.0)]))
    assert read.features["item"].tolist() == [[0.0, 0.0]]  # a colour that was never seen
    assert read.edges["item", "rev_buys", "user"].edge_index.tolist() == [[0], [1]]
    assert read.edges["user", "knows", "user"].edge_index.shape == (2, 0)
    assert bool(read.y.isnan().all())
    assert read.split["test"].tolist() == [0, 1]


def test_nodes_without_features_have_the_number_one(tmp_path: Path) -> None:
    dataset = read_typed_tables(*small(tmp_path, items="id\na\nx"), **LABEL)
    assert dataset.features["item"].tolist() == [[1.0], [1.0]]


def test_the_digest_follows_every_file(tmp_path: Path) -> None:
    digests = {read_typed_tables(*small(tmp_path), **LABEL).digest for _ in range(2)}
    digests |= {
        read_typed_tables(*small(tmp_path, **{name: text}), **LABEL).digest
        for name, text in (
            ("users", "id,age,happy\na,1,yes\nb,2,no\nc,5,yes"),
            ("items", "id,colour\na,red\nx,red"),
            ("buys", "source,target,price\na,x,1"),
            ("knows", "source,target\na,b"),
        )
    }
    assert len(digests) == 5


def test_a_typed_graph_is_one_batch_and_takes_no_transforms(tmp_path: Path) -> None:
    dataset = read_typed_tables(*small(tmp_path), **LABEL)
    (batch,) = batch_source(dataset, seed=0).batches()
    assert set(batch.x_dict) == {"user", "item"}
    assert batch.item.tolist() == [0, 1, 2]
    assert int(batch.train_mask.sum() + batch.valid_mask.sum() + batch.test_mask.sum()) == 3
    moved = batch.to("meta")
    assert moved.x_dict["item"].device.type == moved.edge_index_dict["user", "knows", "user"].device.type == "meta"
    with pytest.raises(InputError, match=r"transform undirected: users\.csv has types"):
        apply_transforms(dataset, ["undirected"])
    with pytest.raises(InputError, match="partitions is 2; expected 1, since a graph with types"):
        batch_source(dataset, seed=0, partitions=2)


def without(name: str) -> Callable[[Any, Any], None]:
    def change(nodes: dict[str, Any], edges: dict[str, Any]) -> None:
        nodes.pop(name, None)
        edges.pop(name, None)

    return change


def renamed(old: str, new: Any) -> Callable[[Any, Any], None]:
    def change(nodes: dict[str, Any], edges: dict[str, Any]) -> None:
        for tables in (nodes, edges):
            if old in tables:
                tables[new] = tables.pop(old)

    return change


def added(key: Any) -> Callable[[Any, Any], None]:
    def change(nodes: dict[str, Any], edges: dict[str, Any]) -> None:
        (nodes if "," not in key else edges)[key] = edges[BUYS]

    return change


def same(nodes: object, edges: object) -> None:
    pass


MISTAKES: list[tuple[Callable[[Any, Any], None], dict[str, str], dict[str, Any], str]] = [
    # types
    (without("item"), {}, {}, "edge type 'user,buys,item': there are no nodes of the type 'item'; the types are user"),
    (renamed("item", "itm"), {}, {}, "there are no nodes of the type 'item'; the types are user, itm"),
    (renamed("item", "it,em"), {}, {}, "node type: the name 'it,em' cannot be used; expected text without commas"),
    (renamed("item", "it=em"), {}, {}, "node type: the name 'it=em' cannot be used"),
    (renamed("item", " item"), {}, {}, "node type: the name ' item' cannot be used"),
    (renamed("item", "it\nem"), {}, {}, r"node type: the name 'it\\nem' cannot be used"),
    (renamed("item", ""), {}, {}, "node type: the name '' cannot be used"),
    (renamed(BUYS, "user,buys"), {}, {}, "edge type 'user,buys': expected source type, relation and target type"),
    (renamed(BUYS, "user,buys,item,now"), {}, {}, "edge type 'user,buys,item,now': expected source type"),
    (renamed(BUYS, ("user", "buys")), {}, {}, "expected source type, relation and target type"),
    (renamed(BUYS, "user,,item"), {}, {}, "edge type 'user,,item': the name '' cannot be used"),
    (without(BUYS), {}, {}, "node type 'item': has no edges; expected a table of edges that names it"),
    (added("user,buys , item"), {}, {}, "edge type 'user,buys,item': has two tables; expected one"),
    (
        added("item,rev_buys,user"),
        {},
        {},
        "'item,rev_buys,user' have the same name as the reverse of 'user,buys,item'",
    ),
    # labels
    (same, {}, {"label": ()}, "label: expected TYPE.COLUMN, the column to predict"),
    (same, {}, {"label": "happy"}, "label: 'happy' is not TYPE.COLUMN; the types are user, item"),
    (same, {}, {"label": "users.happy"}, "label: 'users.happy' is not TYPE.COLUMN; the types are user, item"),
    (same, {}, {"label": "user."}, "label: 'user.' is not TYPE.COLUMN"),
    (
        same,
        {},
        {"label": "user.sad"},
        r"users\.csv: there is no column 'sad' for the labels; the columns are 'id', 'age'",
    ),
    (same, {}, {"label": ("user.happy", "item.colour")}, "label: 'item' and 'user' are different node types"),
    (same, {}, {"label": ("user.happy", "user.happy")}, "a label column is named twice"),
    (same, {"users": "id,age,happy\na,1,\nb,2,"}, {}, r"users\.csv: label column 'happy' is empty"),
    (same, {}, {"kind": "regression"}, r"users\.csv: row 1: column 'happy' is 'yes'; expected a number"),
    (same, {}, {"metric": "rmse"}, "task metric is 'rmse'; expected rocauc"),
    (same, {}, {"split_column": "part"}, r"users\.csv: there is no column 'part' for the split"),
    (same, {}, {"split_column": "age"}, r"users\.csv: row 1: the split column 'age' is '1'; expected train"),
    (same, {}, {"fractions": (0.5, 0.5)}, "fractions are"),
    (same, {}, {"seed": -1}, "seed is -1; expected an integer of at least 0"),
    # tables
    (same, {"items": "id,colour"}, {}, r"items\.csv: the table has no rows"),
    (same, {"items": ""}, {}, r"items\.csv: the file is empty; expected a header"),
    (same, {"items": "name,colour\na,red"}, {}, r"items\.csv: there is no column 'id' for the ids"),
    (same, {"items": "id,colour\na,red\na,red"}, {}, r"items\.csv: row 2: the id 'a' is also in row 1"),
    (same, {"items": "id,colour\n,red"}, {}, r"items\.csv: row 1: the id in column 'id' is empty"),
    (same, {"items": "id,colour\na,red,3"}, {}, r"items\.csv: row 1 has 3 columns; expected 2"),
    (same, {"buys": "from,target\na,x"}, {}, r"buys\.csv: there is no column 'source' for the edges"),
    (same, {"buys": "source,target\na,y"}, {}, r"buys\.csv: row 1: target 'y' is not the id of a node in .*items\.csv"),
    (same, {"buys": "source,target\nx,x"}, {}, r"buys\.csv: row 1: source 'x' is not the id of a node in .*users\.csv"),
    (same, {"buys": "source,target\na,"}, {}, r"buys\.csv: row 1: target '' is not the id of a node"),
    (
        same,
        {"buys": "source,target,price\na,x,"},
        {"features": {BUYS: ["price"]}},
        r"buys\.csv: column 'price' is empty",
    ),
    (
        same,
        {"users": "id,age,happy\na,1e60,yes\nb,2,no"},
        {},
        r"users\.csv: row 1: column 'age' is '1e60'; expected a number",
    ),
    # features
    (
        same,
        {},
        {"features": {"itm": ["colour"]}},
        "features: there is no type 'itm'; the types are 'user', 'item', 'user,buys",
    ),
    (same, {}, {"features": {"item": ["size"]}}, r"items\.csv: there is no column 'size' for the features"),
    (same, {}, {"numeric": "item.colour"}, r"items\.csv: row 1: column 'colour' is 'red'; expected a number"),
    (same, {}, {"numeric": "item.size"}, "numeric: 'size' is not a feature of item; its features: colour"),
    (
        same,
        {},
        {"categorical": "colour"},
        "categorical: 'colour' is not TYPE.COLUMN; the types are user, item, user,buys",
    ),
    (same, {}, {"numeric": "user.age", "categorical": "user.age"}, "categorical: 'user.age' is named as numeric and"),
    # directions
    (without("user,knows,user"), {}, {"directed": True}, "directed: no type of edges enters 'user'"),
]


@pytest.mark.parametrize(("change", "tables", "options", "message"), MISTAKES)
def test_a_mistake_is_one_line(
    change: Callable[[Any, Any], None], tables: dict[str, str], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    nodes, edges = small(tmp_path, **tables)
    change(nodes, edges)
    with pytest.raises(InputError, match=message) as caught:
        read_typed_tables(nodes, edges, **{**LABEL, **options})
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    nodes, edges = small(tmp_path)
    with pytest.raises(InputError, match=r"none\.csv"):
        read_typed_tables({**nodes, "item": tmp_path / "none.csv"}, edges, label="user.happy")
    with pytest.raises(InputError, match="expected tables by type"):
        read_typed_tables(nodes["user"], edges, label="user.happy")


def test_a_type_with_dots_is_found_unless_another_fits_too(tmp_path: Path) -> None:
    nodes, edges = small(tmp_path)
    dotted = {"user.eu": nodes["user"], "item": nodes["item"]}
    keys = {"user.eu,buys,item": edges[BUYS]}
    assert read_typed_tables(dotted, keys, label="user.eu.happy").target == "user.eu"
    both = {**dotted, "user": nodes["user"]}
    with pytest.raises(
        InputError, match=r"label: 'user.eu.happy' may belong to the type 'user.eu' or 'user'; rename one"
    ):
        read_typed_tables(both, {**keys, "user,knows,user": edges["user,knows,user"]}, label="user.eu.happy")


def test_predictions_need_the_same_types(tmp_path: Path) -> None:
    nodes, edges = small(tmp_path)
    provenance = read_typed_tables(nodes, edges, **LABEL).provenance

    def read(nodes: Any, edges: Any) -> None:
        read_typed_tables_to_predict(nodes, edges, provenance=provenance)

    with pytest.raises(
        InputError, match="no table for the edge type 'user,buys,item'; the network was trained on 'user,b"
    ):
        read(nodes, {"user,knows,user": edges["user,knows,user"], "user,likes,item": edges[BUYS]})
    with pytest.raises(
        InputError, match="there is no table for the node type 'item'; the network was trained on 'user', 'it"
    ):
        read({"user": nodes["user"]}, {"user,knows,user": edges["user,knows,user"]})
    with pytest.raises(InputError, match="the edge type 'item,in,item' is unknown"):
        read(nodes, {**edges, "item,in,item": edges[BUYS]})
    with pytest.raises(InputError, match="provenance: expected that of a dataset of typed tables"):
        read_typed_tables_to_predict(nodes, edges, provenance=None)


def test_arrays_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    dataset = read_typed_tables(*small(tmp_path), **LABEL)
    buys = dataset.edges["user", "buys", "item"]
    for changes, message in (
        ({"target": "item"}, "expected x to be the features of the type 'item'"),
        ({"edges": {("user", "r", "venue"): buys}}, "names 'venue', which is not a node type"),
        ({"edges": {("item", "r", "user"): buys}}, "expected nodes 0 to 1"),
    ):
        with pytest.raises(InputError, match=message):
            dataset.replace(**changes)
    assert isinstance(dataset.without_edge_features(), TypedDataset)
    assert all(edges.edge_attr is None for edges in dataset.without_edge_features().edges.values())
