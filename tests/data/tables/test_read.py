"""Tables of nodes and edges become a graph, and later tables are read in the same way."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepergcn.data import Dataset, Task, load_dataset
from deepergcn.data.dataset import directed
from deepergcn.data.provenance import ADAPTER, MoleculeProvenance, TableProvenance
from deepergcn.data.tables.features import FeatureColumn
from deepergcn.data.tables.read import read_tables, read_tables_to_predict
from deepergcn.errors import InputError
from tests.data.examples import assert_same

NODES = """\
id,age,colour,kind,part
007,1.5,red,a,train
b c,2,blue,b,train
"x,1",3,red,,test
é,4.5,,c,valid
"""
EDGES = """\
source,target,weight,bond
007,b c,1,strong
b c,"x,1",2,weak
é,007,0.5,strong
"""


def write(folder: Path, nodes: str = NODES, edges: str = EDGES) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nodes.csv").write_text(nodes, encoding="utf-8")
    (folder / "edges.csv").write_text(edges, encoding="utf-8")
    return folder / "nodes.csv", folder / "edges.csv"


def read(folder: Path, nodes: str = NODES, edges: str = EDGES, **options: Any) -> Dataset:
    options = {"label": "kind", "split_column": "part", **options}
    return read_tables(*write(folder, nodes, edges), root=folder / "root", **options)


def test_graph(tmp_path: Path) -> None:
    dataset = read(tmp_path)
    assert dataset.task == Task("node", "multi-class", 3, "accuracy")
    assert dataset.ids == ("007", "b c", "x,1", "é")
    assert dataset.label_names == ("a", "b", "c")
    assert dataset.y.tolist() == [0, 1, -1, 2]
    assert dataset.x is not None
    # age, colour=blue, colour=red; the empty colour is other.
    assert dataset.x.tolist() == [[1.5, 0, 1], [2, 1, 0], [3, 0, 1], [4.5, 0, 0]]
    assert dataset.symmetric
    assert dataset.edge_index.tolist() == [[0, 1, 3], [1, 2, 0]]
    assert dataset.edge_attr is not None
    assert dataset.edge_attr.tolist() == [[1, 1, 0], [2, 0, 1], [0.5, 1, 0]]
    assert {part: index.tolist() for part, index in dataset.split.items()} == {
        "train": [0, 1],
        "valid": [3],
        "test": [2],
    }


def test_directed_and_chosen_columns(tmp_path: Path) -> None:
    dataset = read(tmp_path, directed=True, features="age", edge_features=["weight"], categorical=["age"])
    assert not dataset.symmetric
    assert dataset.x is not None
    assert dataset.x.tolist() == torch.eye(4).tolist()
    assert dataset.edge_attr is not None
    assert dataset.edge_attr.tolist() == [[1], [2], [0.5]]
    bare = read(tmp_path, features=[], edge_features=[])
    assert bare.x is None
    assert bare.edge_attr is None


def test_other_names_and_parquet(tmp_path: Path) -> None:
    nodes = pa.table({"key": [3, 1, 2], "y": [0.5, None, 2.0]})
    edges = pa.table({"from": [1.0, 2.0], "to": [2, 3]})
    pyarrow.parquet.write_table(nodes, tmp_path / "n.parquet")
    pyarrow.parquet.write_table(edges, tmp_path / "e.parquet")
    dataset = read_tables(
        tmp_path / "n.parquet",
        tmp_path / "e.parquet",
        id_column="key",
        source_column="from",
        target_column="to",
        label="y",
        kind="regression",
        fractions=(0.5, 0.0, 0.5),
        root=tmp_path,
    )
    assert dataset.ids == ("3", "1", "2")
    assert dataset.edge_index.tolist() == [[1, 2], [2, 0]]
    assert dataset.x is None
    assert dataset.task == Task("node", "regression", 1, "rmse")
    # The node without a label is in no part.
    assert sorted(torch.cat(list(dataset.split.values())).tolist()) == [0, 2]


def test_several_labels(tmp_path: Path) -> None:
    nodes = "id,p,q\na,0,1\nb,1,\nc,,0\n"
    dataset = read(tmp_path, nodes, "source,target\na,b\n", label=["p", "q"], split_column=None)
    assert dataset.task == Task("node", "multi-label", 2, "rocauc")
    nan = float("nan")
    torch.testing.assert_close(dataset.y, torch.tensor([[0, 1], [1, nan], [nan, 0]]), equal_nan=True)


def test_standardized_by_train_alone(tmp_path: Path) -> None:
    nodes = NODES.replace("é,4.5", "é,") + "far,1000,red,a,test\n"
    dataset = read(tmp_path, nodes, standardize=True)
    assert dataset.x is not None
    assert dataset.x[:, 0].tolist() == [-1, 1, 5, 0, 3993]  # (age - 1.75) / 0.25, the gap at the mean
    assert dataset.edge_attr is not None
    assert dataset.edge_attr[:, 0].mean().abs() < 1e-6
    assert isinstance(dataset.provenance, TableProvenance)
    assert dataset.provenance.features[0] == FeatureColumn("age", mean=1.75, std=0.25, fills_gaps=True)
    constant = read(tmp_path, NODES.replace("2,blue", "1.5,blue"), standardize=True)
    assert constant.x is not None
    assert constant.x[:, 0].tolist() == [0, 0, 1.5, 3]


def test_repeated_edges_count_once(tmp_path: Path) -> None:
    edges = "source,target,w\n007,b c,1\nb c,007,1\n007,b c,1\n007,b c,2\n"
    undirected = read(tmp_path, edges=edges)
    assert undirected.edge_index.tolist() == [[0, 0], [1, 1]]
    assert read(tmp_path, edges=edges, directed=True).edge_index.tolist() == [[0, 1, 0], [1, 0, 1]]
    assert read(tmp_path, edges=edges, edge_features=()).edge_index.tolist() == [[0], [1]]


def test_an_undirected_loop_stands_once(tmp_path: Path) -> None:
    dataset = read(tmp_path, edges="source,target,w\n007,b c,1\né,é,2\nb c,é,3\n")
    graph = dataset.graph(0)
    assert graph.edge_index.tolist() == [[0, 1, 3, 1, 3], [1, 0, 3, 3, 1]]
    assert graph.edge_attr[:, 0].tolist() == [1, 1, 2, 3, 3]


def test_no_edges(tmp_path: Path) -> None:
    dataset = read(tmp_path, edges="source,target,w\n")
    assert (dataset.num_edges, dataset.edge_attr) == (0, None)


@pytest.mark.parametrize(
    ("nodes", "edges", "options", "message"),
    [
        (NODES, EDGES + "b c,z,1,weak\n", {}, r"edges.csv: row 4: target 'z' is not the id of a node in .*nodes.csv"),
        (NODES, EDGES + ",é,1,weak\n", {}, r"edges.csv: row 4: source '' is not the id of a node"),
        (NODES + "b c,1,red,a,test\n", EDGES, {}, r"nodes.csv: row 5: the id 'b c' is also in row 2"),
        (NODES + ",1,red,a,test\n", EDGES, {}, r"nodes.csv: row 5: the id in column 'id' is empty"),
        (NODES, EDGES, {"numeric": ["colour"]}, r"nodes.csv: row 1: column 'colour' is 'red'; expected a number"),
        (NODES, EDGES, {"numeric": "bond"}, r"edges.csv: row 1: column 'bond' is 'strong'; expected a number"),
        (NODES.replace("4.5", ""), EDGES, {}, r"nodes.csv: row 4: column 'age' is empty; expected a number"),
        (NODES.replace("4.5", "1e39"), EDGES, {}, r"row 4: column 'age' is '1e39'; expected a number within float32"),
        (NODES, EDGES, {"id_column": "key"}, r"no column 'key' for the ids; the columns are 'id', 'age', 'colour'"),
        (NODES, EDGES, {"target_column": "to"}, r"edges.csv: there is no column 'to' for the edges"),
        (NODES, EDGES, {"features": ["size"]}, r"nodes.csv: there is no column 'size' for the features"),
        (NODES, EDGES, {"label": "y"}, r"nodes.csv: there is no column 'y' for the labels"),
        (NODES, EDGES, {"label": ()}, r"nodes.csv: no label column is named; the columns are 'id'"),
        (
            NODES,
            EDGES,
            {"split_column": "age"},
            r"nodes.csv: row 1: the split column 'age' is '1.5'; expected train, valid or test",
        ),
        (NODES, EDGES, {"split_column": "fold"}, r"nodes.csv: there is no column 'fold' for the split"),
        (NODES, EDGES, {"categorical": ["part"]}, r"numeric, categorical: 'part' is not a feature; expected a feature"),
        (NODES, EDGES, {"kind": "regression"}, r"nodes.csv: row 1: column 'kind' is 'a'; expected a number"),
        ("", EDGES, {}, r"nodes.csv: the file is empty; expected a header"),
        (NODES, "", {}, r"edges.csv: the file is empty; expected a header"),
        ("id,kind,part\n", EDGES, {}, r"nodes.csv: the table has no rows"),
        (NODES, EDGES + "007,é\n", {}, r"edges.csv: row 4 has 2 columns; expected 4"),
        (
            NODES.replace("red", ""),
            EDGES.replace("strong", "").replace("weak", ""),
            {},
            r"'bond' is empty; leave it out",
        ),
    ],
)
def test_damage_is_named_and_mended(
    nodes: str, edges: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, nodes, edges, **options)
    assert read(tmp_path).num_nodes == 4


def test_many_texts_are_not_a_category_unless_named(tmp_path: Path) -> None:
    nodes = "id,name,y\n" + "".join(f"{i},n{i},{i % 2}\n" for i in range(101))
    options: dict[str, Any] = {"label": "y", "split_column": None}
    with pytest.raises(InputError, match=r"row 1: column 'name' is 'n0'; expected a number, or at most 100 categories"):
        read(tmp_path, nodes, "source,target\n1,2\n", **options)
    named = read(tmp_path, nodes, "source,target\n1,2\n", categorical=["name"], **options)
    assert named.x is not None
    assert named.x.shape == (101, 101)


def test_folder(tmp_path: Path) -> None:
    write(tmp_path / "graph")
    found = load_dataset(tmp_path / "graph", root=tmp_path, label="kind", split_column="part")
    assert_same(found, read(tmp_path / "graph"))
    (tmp_path / "graph" / "edges.csv").unlink()
    with pytest.raises(
        InputError, match=r"graph: has 0 of the files edges.csv, edges.csv.gz, edges.tsv, edges.tsv.gz, edges.parquet"
    ):
        read_tables(tmp_path / "graph", label="kind")
    with pytest.raises(InputError, match="is a single file; expected a table of edges too"):
        read_tables(tmp_path / "graph" / "nodes.csv", label="kind")


def test_cache_follows_both_files(tmp_path: Path) -> None:
    first = read(tmp_path)
    assert_same(read(tmp_path), first)
    assert read(tmp_path, edges=EDGES + "é,é,1,weak\n").num_edges == 7
    assert read(tmp_path, NODES.replace("1.5", "9")).x is not None
    assert_same(read(tmp_path), first)


def test_provenance_reads_later_tables(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    trained = read(tmp_path, standardize=True)
    provenance = ADAPTER.validate_json(ADAPTER.dump_json(trained.provenance))
    assert provenance == trained.provenance
    same = read_tables_to_predict(tmp_path, provenance=provenance)
    for name in ("x", "edge_index", "edge_attr"):
        torch.testing.assert_close(getattr(same, name), getattr(trained, name))
    assert same.task == trained.task
    assert same.label_names == trained.label_names

    nodes = "colour,age,id\ngreen,,1\nred,2,2\n"
    files = write(tmp_path / "later", nodes, "target,source,bond,weight\n2,1,odd,1\n")
    with pytest.raises(
        InputError, match=r"row 1: column '(colour|bond)' is '(green|odd)', a category not seen in training"
    ):
        read_tables_to_predict(*files, provenance=provenance)
    caplog.clear()
    later = read_tables_to_predict(*files, provenance=provenance, unseen="other")
    (warning,) = caplog.messages
    assert "column 'age' is empty in 1 of 2 rows; the mean of the training data is used there" in warning
    assert later.x is not None
    assert later.x.tolist() == [[0, 0, 0], [1, 0, 1]]  # a colour never seen is other
    assert later.edge_attr is not None
    assert later.edge_attr[0, 1:].tolist() == [0, 0]
    assert later.edge_index.tolist() == [[0], [1]]
    assert later.y.tolist() == [-1, -1]
    assert later.split["test"].tolist() == [0, 1]


def test_provenance_of_another_reader(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(InputError, match="expected that of a dataset of tables"):
        read_tables_to_predict(tmp_path, provenance=MoleculeProvenance(smiles_column="smiles", rows=3))
    provenance = read(tmp_path).provenance
    files = write(tmp_path, NODES.replace("colour", "color"))
    with pytest.raises(InputError, match=r"there is no column 'colour' for the features"):
        read_tables_to_predict(*files, provenance=provenance)


IDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=5)
FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.data())
def test_tables_come_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    ids = data.draw(st.lists(IDS, min_size=2, max_size=8, unique=True))
    count = len(ids)
    numbers = data.draw(st.lists(FLOATS, min_size=count, max_size=count))
    labels = data.draw(st.lists(st.sampled_from(["", "0", "1"]), min_size=count, max_size=count))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    ends = data.draw(st.lists(pairs, max_size=12))
    is_directed = data.draw(st.booleans())
    folder = tmp_path_factory.mktemp("tables")
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [*zip(ids, numbers, labels, strict=True), ("first of two", 0.0, "0"), ("second of two", 0.0, "1")]
        csv.writer(file).writerows([("id", "number", "label"), *rows])
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("source", "target"), *((ids[u], ids[v]) for u, v in ends)])
    dataset = read_tables(folder, label="label", directed=is_directed, numeric="number", root=folder)
    assert dataset.ids[:count] == tuple(ids)
    assert dataset.x is not None
    np.testing.assert_array_equal(dataset.x[:count, 0].numpy(), np.array(numbers, dtype=np.float32))
    expected = [float("nan") if label == "" else float(label) for label in labels]
    np.testing.assert_array_equal(dataset.y[:count, 0].numpy(), expected)
    found, _ = directed(dataset.edge_index, None, symmetric=dataset.symmetric)
    wanted = {*ends, *(() if is_directed else ((v, u) for u, v in ends))}
    assert sorted(map(tuple, found.T.tolist())) == sorted(wanted)
