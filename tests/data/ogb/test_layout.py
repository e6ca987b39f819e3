"""OGB's layout: what is read is what was written, and every damage is one clear error that names its place."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given

from deepergcn.data import Dataset, Task, load_dataset, write_layout
from deepergcn.errors import InputError
from tests.data.examples import assert_same, one_network, two_molecules
from tests.data.generated import datasets


def put(folder: Path, name: str, text: str) -> None:
    """Write a gzipped table."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three graphs of 3, 2 and 1 nodes with 2, 1 and 0 edges, written by hand as OGB writes them."""
    made = tmp_path / "made"
    put(made, "raw/num-node-list.csv.gz", "3\n2\n1\n")
    put(made, "raw/num-edge-list.csv.gz", "2\n1\n0\n")
    put(made, "raw/edge.csv.gz", "0,1\n1,2\n0,1\n")
    put(made, "raw/node-feat.csv.gz", "5,0\n6,1\n7,0\n0,1\n8,1\n1,1\n")
    put(made, "raw/edge-feat.csv.gz", "0.5\n0.25\n1\n")
    put(made, "raw/graph-label.csv.gz", "0\n2\nnan\n")
    put(made, "raw/node_species.csv.gz", "9606\n9606\n9606\n3702\n3702\n4932\n")
    for part, text in (("train", "1\n"), ("valid", "0\n"), ("test", "2\n")):
        put(made, f"split/random/{part}.csv.gz", text)
    return made


def test_folder_written_by_hand(folder: Path, tmp_path: Path) -> None:
    dataset = load_dataset(folder, tmp_path)
    assert dataset.name == "made"
    assert dataset.task == Task("graph", "multi-class", 3, "accuracy")
    assert dataset.symmetric
    assert dataset.node_ptr.tolist() == [0, 3, 5, 6]
    assert dataset.edge_ptr.tolist() == [0, 2, 3, 3]
    assert dataset.edge_index.tolist() == [[0, 1, 0], [1, 2, 1]]
    assert dataset.edge_index.dtype == torch.int32
    assert dataset.x is not None
    assert dataset.x.tolist() == [[5, 0], [6, 1], [7, 0], [0, 1], [8, 1], [1, 1]]
    assert dataset.edge_attr is not None
    assert dataset.edge_attr.tolist() == [[0.5], [0.25], [1.0]]
    assert dataset.y.tolist() == [0, 2, -1]
    assert {part: index.tolist() for part, index in dataset.split.items()} == {"train": [1], "valid": [0], "test": [2]}
    assert dataset.node_extra["species"].tolist() == [9606, 9606, 9606, 3702, 3702, 4932]


def test_options(folder: Path, tmp_path: Path) -> None:
    dataset = load_dataset(
        folder, tmp_path, symmetric=False, x_categories=(9, 2), task=Task("graph", "regression", 1, "mae")
    )
    assert not dataset.symmetric
    assert dataset.x is not None
    assert dataset.x.dtype == torch.uint8
    assert dataset.y[:2].tolist() == [[0.0], [2.0]]
    assert dataset.y[2].isnan().all()


def test_cache_follows_the_files_and_the_options(folder: Path, tmp_path: Path) -> None:
    first = load_dataset(folder, tmp_path)
    assert len(list((tmp_path / "arrays").iterdir())) == 1
    assert_same(load_dataset(folder, tmp_path), first)
    assert load_dataset(folder, tmp_path).digest == first.digest
    put(folder, "raw/edge-feat.csv.gz", "0.5\n0.25\n2\n")
    second = load_dataset(folder, tmp_path)
    assert second.edge_attr is not None
    assert second.edge_attr[2] == 2
    assert second.digest != first.digest
    assert not load_dataset(folder, tmp_path, symmetric=False).symmetric


def test_cached_dataset_is_used(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_dataset(folder, tmp_path)
    monkeypatch.setattr("deepergcn.data.ogb.layout.read_layout", None)
    assert load_dataset(folder, tmp_path).name == "made"


def test_split_of_a_table_of_folds(folder: Path, tmp_path: Path) -> None:
    put(folder, "folds/folds.csv.gz", "0,2\n1,0\n2,1\n")
    parts = {
        split: {part: index.tolist() for part, index in load_dataset(folder, tmp_path, split=split).split.items()}
        for split in ("fold-0", "fold-1")
    }
    assert parts["fold-0"] == {"train": [0], "valid": [1], "test": [2]}
    assert parts["fold-1"] == {"train": [1], "valid": [2], "test": [0]}
    put(folder, "folds/folds.csv.gz", "2,2\n1,0\n0,1\n")  # a change is seen, whatever is cached
    assert load_dataset(folder, tmp_path, split="fold-0").split["train"].tolist() == [2]
    (folder / "split" / "random").rename(folder / "split" / "fold-0")
    assert load_dataset(folder, tmp_path, split="fold-0").split["train"].tolist() == [1]  # that of the folder


@pytest.mark.parametrize(
    ("folds", "split", "message"),
    [
        ("0,2\n1,0\n2,1\n", "fold-2", r"folds.csv.gz: has 2 folds; expected a split from fold-0 to fold-1"),
        ("0\n1\n3\n", "fold-0", r"folds.csv.gz, row 3, column 1: has 3; expected 0 \(train\), 1 \(valid\) or 2"),
        ("0\n1\n", "fold-0", r"folds.csv.gz.* 2 .*expected 3"),
        ("0\n1\n2\n", "fold-00", "split/ has random; expected fold-00"),
        ("0\n1\n1\n", "fold-0", "folds.csv.gz, column 1: has no 2; expected a graph for test"),
        (None, "fold-0", "split/ has random; expected fold-0"),
    ],
)
def test_wrong_folds(folder: Path, tmp_path: Path, folds: str | None, split: str, message: str) -> None:
    if folds is not None:
        put(folder, "folds/folds.csv.gz", folds)
    with pytest.raises(InputError, match=message):
        load_dataset(folder, tmp_path, split=split)


def test_name_of_an_ogb_dataset_brings_its_settings(folder: Path, tmp_path: Path) -> None:
    (folder / "split" / "random").rename(folder / "split" / "time")
    (folder / "raw" / "graph-label.csv.gz").unlink()
    put(folder, "raw/node-label.csv.gz", "0\n1\n2\n3\n4\n39\n")
    folder.rename(tmp_path / "ogbn_arxiv")
    dataset = load_dataset("ogbn-arxiv", tmp_path)
    assert dataset.name == "ogbn-arxiv"
    assert dataset.task == Task("node", "multi-class", 40, "accuracy")
    assert not dataset.symmetric


@pytest.mark.parametrize(
    ("labels", "kind", "outputs"),
    [
        ("0\n1\nnan\n", "binary", 1),
        ("0,1\n1,\nnan,0\n", "multi-label", 2),
        ("0\n1\n6\n", "multi-class", 7),
        ("0\n1\n-1\n", "regression", 1),
        ("0\n1\n2.5\n", "regression", 1),
        ("0,1\n1,2\n1,1\n", "regression", 2),
    ],
)
def test_task_is_inferred(folder: Path, tmp_path: Path, labels: str, kind: str, outputs: int) -> None:
    put(folder, "raw/graph-label.csv.gz", labels)
    task = load_dataset(folder, tmp_path).task
    assert (task.kind, task.outputs) == (kind, outputs)


Damage = Callable[[Path], Any]


def truncate(name: str) -> Damage:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-5])


def text(name: str, content: str) -> Damage:
    return lambda folder: put(folder, name, content)


def description(content: str | bytes) -> Damage:
    raw = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / "dataset.json").write_bytes(raw)


DAMAGES: list[tuple[Damage, str]] = [
    (truncate("raw/edge.csv.gz"), r"raw/edge.csv.gz: the file is damaged or cut short"),
    (truncate("split/random/train.csv.gz"), r"train.csv.gz: the file is damaged or cut short"),
    (lambda f: (f / "raw/edge.csv.gz").write_bytes(b"0,1\n1,2\n0,1\n"), "edge.csv.gz: the file is damaged"),
    (lambda f: (f / "raw/edge.csv.gz").write_bytes(b""), r"edge.csv.gz: the file is empty; expected 3 rows"),
    (text("raw/num-node-list.csv.gz", ""), "num-node-list.csv.gz: the file is empty; expected rows"),
    (text("split/random/valid.csv.gz", ""), "valid.csv.gz: the file is empty"),
    (text("raw/edge.csv.gz", "0,1\n1,2,3\n0,1\n"), "edge.csv.gz, row 2: has 3 columns; expected 2"),
    (text("raw/edge.csv.gz", "0,1,2\n1,2,3\n0,1,4\n"), "edge.csv.gz, row 1: has 3 columns; expected 2"),
    (text("raw/edge.csv.gz", "0,1\n1,2\n\n0,1\n"), "edge.csv.gz, row 3: has 1 column; expected 2"),
    (text("raw/node-feat.csv.gz", "5,0\n6\n7,0\n0,1\n8,1\n1,1\n"), "node-feat.csv.gz, row 2: has 1 column"),
    (text("raw/edge.csv.gz", "0,1\n1,two\n0,1\n"), "edge.csv.gz, row 2, column 2: has 'two'; expected an integer"),
    (text("raw/edge.csv.gz", "0,1\n1,1.5\n0,1\n"), "edge.csv.gz, row 2, column 2: has '1.5'; expected an integer"),
    (text("raw/edge.csv.gz", "0,1\n1,\n0,1\n"), "row 2, column 2: has nothing; expected an integer"),
    (text("raw/edge.csv.gz", "0,1\n1,99999999999\n0,1\n"), "row 2, column 2: has '99999999999'"),
    (text("raw/edge-feat.csv.gz", "1\nhigh\n3\n"), "edge-feat.csv.gz, row 2: has 'high'; expected a number"),
    (text("raw/edge-feat.csv.gz", "1\nnan\n3\n"), "edge-feat.csv.gz, row 2: has 'nan'; expected a number"),
    (text("raw/edge-feat.csv.gz", "1\n2\n-inf\n"), "edge-feat.csv.gz, row 3, column 1: has -inf; expected a finite"),
    (text("raw/edge.csv.gz", "0,1\n1,2\n0,2\n"), "edge.csv.gz, row 3: the edge names node 2; graph 1 has nodes 0 to 1"),
    (
        text("raw/edge.csv.gz", "0,1\n-1,2\n0,1\n"),
        "edge.csv.gz, row 2: the edge names node -1; graph 0 has nodes 0 to 2",
    ),
    (text("raw/edge.csv.gz", "0,1\n1,2\n"), r"edge.csv.gz: has 2 rows; expected 3 rows \(the sum of num-edge-list\)"),
    (text("raw/edge.csv.gz", "0,1\n" * 9), r"edge.csv.gz: has 9 rows; expected 3 rows"),
    (text("raw/edge-feat.csv.gz", "1\n"), r"edge-feat.csv.gz: has 1 row; expected 3 rows"),
    (text("raw/node-feat.csv.gz", "1\n"), r"node-feat.csv.gz: has 1 row; expected 6 rows \(the sum of num-node-list\)"),
    (text("raw/num-edge-list.csv.gz", "2\n1\n"), r"num-edge-list.csv.gz: has 2 rows; expected 3 rows"),
    (text("raw/num-edge-list.csv.gz", "4\n-1\n0\n"), "num-edge-list.csv.gz, row 2: the count is -1"),
    (
        text("raw/num-edge-list.csv.gz", "2\n1\n9999999999999\n"),
        "num-edge-list.csv.gz, row 3: the counts add up to 10000000000002",
    ),
    (text("raw/num-edge-list.csv.gz", "2\n1\n9999999999\n"), "edge.csv.gz: the file is too small for 10000000002 rows"),
    (
        text("raw/num-node-list.csv.gz", "1\n9223372036854775807\n9223372036854775807\n"),
        "num-node-list.csv.gz, row 2: the counts add up to 9223372036854775808; expected at most 2147483647",
    ),
    (text("raw/num-node-list.csv.gz", "1\n1" + "0" * 5000 + "\n1\n"), "num-node-list.csv.gz, row 2: has '10000"),
    (
        text("raw/num-node-list.csv.gz", "3\n\u0662\n1\n"),
        "row 2: has '\u0662'; expected an integer",
    ),
    (text("raw/edge-feat.csv.gz", "1\n1_0\n3\n"), "edge-feat.csv.gz, row 2: has '1_0'; expected a number"),
    (text("raw/edge-feat.csv.gz", "1\n" + "a" * 200_000 + "\n3\n"), "edge-feat.csv.gz, row 2: cannot be read"),
    (
        text("raw/graph-label.csv.gz", "0\n2\n16777217\n"),
        "row 3: the label is 16777217; expected a class",
    ),
    (
        text("raw/graph-label.csv.gz", "0\n0.5\n1e39\n"),
        "row 3: the label is .*; expected a finite number",
    ),
    (text("raw/num-node-list.csv.gz", "3\n0\n3\n"), "num-node-list.csv.gz, row 2: the count is 0; expected at least 1"),
    (
        text("raw/graph-label.csv.gz", "0\n2\n"),
        r"graph-label.csv.gz: has 2 rows; expected 3 rows \(one for each graph\)",
    ),
    (text("raw/graph-label.csv.gz", "0\n2\nbad\n"), "graph-label.csv.gz, row 3: has 'bad'; expected a number"),
    (text("raw/graph-label.csv.gz", "0.5\ninf\n0\n"), "graph-label.csv.gz, row 2: the label is inf"),
    (text("raw/node-label.csv.gz", "0\n"), "has both raw/node-label.csv.gz and raw/graph-label.csv.gz"),
    (lambda f: (f / "raw/graph-label.csv.gz").unlink(), "has neither raw/node-label.csv.gz nor"),
    (lambda f: (f / "raw/num-edge-list.csv.gz").unlink(), "has no raw/num-edge-list.csv.gz"),
    (lambda f: (f / "split/random/test.csv.gz").unlink(), "has no test.csv.gz"),
    (text("split/random/train.csv.gz", "0\n"), "valid.csv.gz, row 1: graph 0 is in train too"),
    (text("split/random/train.csv.gz", "1\n3\n"), "train.csv.gz, row 2: names graph 3; expected 0 to 2"),
    (text("split/random/train.csv.gz", "-1\n"), "train.csv.gz, row 1: names graph -1; expected 0 to 2"),
    (text("split/random/train.csv.gz", "1\n1\n"), "train.csv.gz, row 2: graph 1 is listed twice"),
    (text("split/random/train.csv.gz", "one\n"), "train.csv.gz, row 1: has 'one'; expected an integer"),
    (text("split/scaffold/train.csv.gz", "1\n"), "split/ has random, scaffold"),
    (text("raw/node_species.csv.gz", "1\n2\n"), "node_species.csv.gz: has 2 rows; expected 6 rows"),
    (description("{"), "dataset.json: the file: Invalid JSON"),
    (description("[]"), "dataset.json: the file: .*object"),
    (
        lambda f: (f / "dataset.json").write_text('{"settings": {"speed": 1}}'),
        "settings.speed: Extra inputs are not permitted",
    ),
    (
        lambda f: (f / "dataset.json").write_text('{"settings": {"task": {"level": 1}}}'),
        "settings.task.level: Input should be",
    ),
    (
        lambda f: (f / "dataset.json").write_text('{"settings": {"x_categories": 3}}'),
        "x_categories: Input should be a valid",
    ),
    (
        lambda f: (f / "dataset.json").write_text('{"settings": {"x_categories": []}}'),
        "x_categories: .* at least 1 item",
    ),
    (
        lambda f: (f / "dataset.json").write_text('{"edge_features": -1}'),
        "edge_features: .* greater than or equal to 1",
    ),
    (description('{"edge_features": 1' + "0" * 5000 + "}"), "dataset.json: "),
    (description('{"ids": ' + "[" * 100_000), "dataset.json: the file: "),
    (description('{"name": "' + "\\ud800" + '"}'), "dataset.json: the file: "),
    (description(b'{"name": "\xff"}'), "dataset.json: the file: "),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=[message for _, message in DAMAGES])
def test_damage_is_one_clear_error_and_repair_works(folder: Path, tmp_path: Path, damage: Damage, message: str) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    damage(folder)
    with pytest.raises(InputError, match=message) as caught:
        load_dataset(folder, tmp_path)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("arrays/*"))
    for path in folder.rglob("*"):
        if path.is_file() and path not in before:
            path.unlink()
    if (extra := folder / "split" / "scaffold").exists():
        extra.rmdir()
    for path, content in before.items():
        path.write_bytes(content)
    assert len(load_dataset(folder, tmp_path)) == 3


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            Task("graph", "multi-class", 2, "accuracy"),
            "graph-label.csv.gz, row 2: the label is 2; expected a class from 0",
        ),
        (Task("graph", "binary", 1, "rocauc"), "graph-label.csv.gz, row 2: the label is 2; expected 0 or 1"),
        (Task("graph", "multi-label", 2, "rocauc"), "has 1 column; a multi-label task has 2 columns"),
        (Task("node", "binary", 1, "rocauc"), "has labels of graphs; expected labels of nodes, as the task says"),
    ],
)
def test_labels_that_do_not_fit_the_given_task(folder: Path, tmp_path: Path, task: Task, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_dataset(folder, tmp_path, task=task)


def test_category_out_of_range(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 5, column 1: has 8; expected a category 0 to 7"):
        load_dataset(folder, tmp_path, x_categories=(8, 2))
    with pytest.raises(InputError, match=r"row 1: has 2 columns; expected 3"):
        load_dataset(folder, tmp_path, x_categories=(9, 2, 2))


def test_class_numbers_that_float32_cannot_hold_stay_apart(folder: Path, tmp_path: Path) -> None:
    put(folder, "raw/graph-label.csv.gz", "16777216\n16777217\n0\n")
    task = Task("graph", "multi-class", 16777218, "accuracy")
    dataset = load_dataset(folder, tmp_path, task=task)
    assert dataset.y.tolist() == [16777216, 16777217, 0]
    write_layout(dataset, tmp_path / "again")
    assert load_dataset(tmp_path / "again", tmp_path).y.tolist() == [16777216, 16777217, 0]


def test_files_without_compression(folder: Path, tmp_path: Path) -> None:
    compressed = load_dataset(folder, tmp_path)
    for path in list(folder.rglob("*.csv.gz")):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    assert_same(load_dataset(folder, tmp_path), compressed)


@given(dataset=datasets())
def test_written_and_read_back(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("layout")
    write_layout(dataset, place / "folder")
    assert_same(load_dataset(place / "folder", place), dataset)
    assert_same(load_dataset(place / "folder", place), dataset)


def test_what_the_layout_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the split 'test' is empty"):
        write_layout(two_molecules(), tmp_path / "folder")
    with pytest.raises(InputError, match=r"'\.\./x' cannot be the name of a file"):
        write_layout(one_network(node_extra={"../x": torch.zeros(4)}), tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="exists already"):
        write_layout(one_network(), tmp_path)
