"""Tables of links: what is read, what is removed from the messages, and every mistake in one line."""

from pathlib import Path
from typing import Any

import pytest
import torch

from deepergcn.data import read_links
from deepergcn.data.dataset import Dataset
from deepergcn.data.links.pairs import is_in, pair_keys
from deepergcn.data.provenance import LinkProvenance
from deepergcn.errors import InputError
from tests.data.links.tables import edges_file, links_file, nodes_file, random_links, write


def keys(dataset: Dataset, items: torch.Tensor) -> Any:
    assert dataset.pairs is not None
    return pair_keys(dataset.pairs[:, items].numpy(), dataset.num_nodes)


def edge_keys(dataset: Dataset) -> Any:
    return pair_keys(dataset.edge_index.numpy(), dataset.num_nodes)


def test_links_alone_are_split_at_random_and_their_train_part_carries_the_messages(tmp_path: Path) -> None:
    dataset = read_links(links_file(tmp_path), root=tmp_path)
    assert dataset.pairs is not None
    assert dataset.task.level == "link"
    assert dataset.task.metric == "rocauc"
    assert {part: len(index) for part, index in dataset.split.items()} == {"train": 96, "valid": 24, "test": 24}
    assert bool((dataset.y[dataset.split["train"]] == 1).all())
    for part in ("valid", "test"):
        assert dataset.y[dataset.split[part]].flatten().tolist() == [1.0] * 12 + [0.0] * 12
    assert dataset.symmetric
    assert sorted(edge_keys(dataset)) == sorted(keys(dataset, dataset.split["train"]))
    assert dataset.x_categories == (dataset.num_nodes,)
    assert len(dataset.node_ids) == dataset.num_nodes == 30
    graph = dataset.graph(0)
    assert graph.edge_label_index.shape == (2, 144)
    assert graph.edge_label.sum() == 120


def test_pairs_without_a_link_are_neither_links_nor_edges_and_different(tmp_path: Path) -> None:
    dataset = read_links(links_file(tmp_path), edges=edges_file(tmp_path), negatives=3, root=tmp_path)
    is_link = dataset.y[:, 0] == 1
    negative, positive = keys(dataset, (~is_link).nonzero()[:, 0]), keys(dataset, is_link.nonzero()[:, 0])
    assert len(negative) == 3 * 24
    assert len(set(negative.tolist())) == len(negative)
    assert not set(negative.tolist()) & {*positive.tolist(), *edge_keys(dataset).tolist()}


def test_edges_that_join_valid_or_test_links_are_removed_in_both_directions(tmp_path: Path) -> None:
    pairs = random_links(12, 40)
    links = write(tmp_path / "links.csv", ("source", "target"), pairs)
    rows = [*pairs, *((b, a) for a, b in pairs), ("n0", "n0")]
    edges = write(tmp_path / "edges.csv", ("source", "target"), rows)
    for directed in (False, True):
        dataset = read_links(links, edges=edges, directed=directed, root=tmp_path)
        evaluated = torch.cat(
            [dataset.split[part][dataset.y[dataset.split[part], 0] == 1] for part in ("valid", "test")]
        )
        found, hidden = edge_keys(dataset), sorted(keys(dataset, evaluated))
        assert len(evaluated) == 8
        assert not is_in(found, torch.tensor(hidden).numpy()).any()
        assert set(keys(dataset, dataset.split["train"]).tolist()) <= set(found.tolist())
        assert isinstance(dataset.provenance, LinkProvenance)
        assert dataset.provenance.removed == (16 if directed else 8)
        assert dataset.symmetric is False  # the loop stands once, and directed edges as they are


def test_features_of_nodes_and_edges_are_read_and_standardized_over_all(tmp_path: Path) -> None:
    dataset = read_links(
        links_file(tmp_path), nodes_file(tmp_path), edges_file(tmp_path), standardize=True, root=tmp_path
    )
    assert dataset.x is not None
    assert dataset.edge_attr is not None
    assert dataset.x.shape == (30, 3)
    assert abs(float(dataset.x[:, 0].mean())) < 1e-6
    assert dataset.edge_attr.shape == (dataset.num_edges, 1)
    assert dataset.x_categories is None


def test_a_column_is_the_split_and_rows_that_repeat_a_pair_count_once(tmp_path: Path) -> None:
    rows = [("a", "b", "train"), ("b", "a", "train"), ("b", "c", "train"), ("c", "d", "valid"), ("d", "e", "test")]
    rows += [("e", "a", ""), ("x", "y", "train"), ("u", "v", "train")]
    links = write(tmp_path / "links.csv", ("source", "target", "split"), rows)
    dataset = read_links(links, split_column="split", root=tmp_path)
    assert isinstance(dataset.provenance, LinkProvenance)
    assert dataset.provenance.repeated == 1
    assert dataset.split["train"].tolist() == [0, 1, 5, 6]
    assert dataset.split["valid"].tolist()[0] == 2
    assert dataset.split["test"].tolist()[0] == 3
    # a link that is in no part is no message, and never drawn as a pair without a link
    assert keys(dataset, torch.tensor([4]))[0] not in {*edge_keys(dataset).tolist()}
    assert keys(dataset, torch.tensor([4]))[0] not in keys(dataset, torch.arange(7, dataset.num_items))


def test_the_cache_gives_back_the_same_dataset(tmp_path: Path) -> None:
    links, nodes, edges = links_file(tmp_path), nodes_file(tmp_path), edges_file(tmp_path)
    first, again = (read_links(links, nodes, edges, root=tmp_path) for _ in range(2))
    assert first.pairs is not None
    assert again.pairs is not None
    assert torch.equal(first.pairs, again.pairs)
    assert torch.equal(first.edge_index, again.edge_index)
    assert (first.node_ids, first.provenance, first.task) == (again.node_ids, again.provenance, again.task)
    assert len(list((tmp_path / "arrays").glob("*.safetensors"))) == 1


def test_a_metric_may_be_named(tmp_path: Path) -> None:
    links = links_file(tmp_path)
    assert read_links(links, metric="mrr", root=tmp_path).task.metric == "mrr"
    assert read_links(links, metric="hits@20", negatives=2, root=tmp_path).task.metric == "hits@20"


LINKS = [*random_links(10, 30)]
HEADER = ("source", "target")
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no such file": ({"links": None}, "links.csv: there is no such file"),
    "no rows": ({"rows": []}, "links.csv: the table has no rows; expected a link in each"),
    "one column": (
        {"header": ("source",), "rows": [("a",)]},
        "links.csv: there is no column 'target' for the links; the columns are 'source'",
    ),
    "another name of a column": (
        {"options": {"source_column": "from"}},
        "links.csv: there is no column 'from' for the links; the columns are 'source', 'target'",
    ),
    "an empty cell": ({"rows": [*LINKS, ("", "n1")]}, "links.csv: row 31: source is empty; expected the id of a node"),
    "a pair of one node": (
        {"rows": [*LINKS, ("n1", "n1")]},
        "links.csv: row 31: links 'n1' with itself; expected two different nodes",
    ),
    "an unknown node": (
        {"rows": [*LINKS, ("n1", "n77")], "nodes": True},
        "links.csv: row 31: target 'n77' is not the id of a node in .*nodes.csv",
    ),
    "an unknown node of an edge": (
        {"nodes": True, "edges": [("n1", "who")]},
        "edges.csv: row 1: target 'who' is not the id of a node in .*nodes.csv",
    ),
    "no column of edges": (
        {"edge_header": ("u", "v"), "edges": [("n1", "n2")]},
        "edges.csv: there is no column 'source' for the edges; the columns are 'u', 'v'",
    ),
    "a repeated id": ({"nodes": [("n1", 1), ("n1", 2)]}, "nodes.csv: row 2: the id 'n1' is also in row 1"),
    "no column of ids": ({"nodes": True, "options": {"id_column": "name"}}, "nodes.csv: there is no column 'name'"),
    "no such feature": (
        {"nodes": True, "options": {"features": ["weight"]}},
        "nodes.csv: there is no column 'weight' for the features",
    ),
    "a feature that is empty": (
        {"nodes": [(f"n{i}", "" if i == 4 else i) for i in range(10)]},
        "nodes.csv: row 5: column 'size' is empty; expected a number",
    ),
    "a pair in two parts": (
        {"header": (*HEADER, "split"), "rows": [("a", "b", "train"), ("b", "a", "test")], "split": True},
        r"links.csv: row 2: the pair is also in row 1, in another part of the split \(train and test\)",
    ),
    "no train": (
        {"header": (*HEADER, "split"), "rows": [("a", "b", "test")], "split": True},
        "links.csv: no row of the split column 'split' is train",
    ),
    "a value that is no part": (
        {"header": (*HEADER, "split"), "rows": [("a", "b", "train"), ("b", "c", "later")], "split": True},
        "links.csv: row 2: the split column 'split' is 'later'; expected train, valid or test",
    ),
    "no such split column": ({"split": True}, "links.csv: there is no column 'split' for the split"),
    "fractions": ({"options": {"fractions": (0.5, 0.1, 0.1)}}, r"fractions are \(0.5, 0.1, 0.1\); expected three"),
    "a seed": ({"options": {"seed": -1}}, "seed is -1; expected an integer of at least 0"),
    "no negatives": ({"options": {"negatives": 0}}, "negatives is 0; expected at least 1"),
    "too many negatives": (
        {"options": {"negatives": 9}},
        "links.csv: scoring needs 54 pairs of nodes without a link; there are 15",
    ),
    "K above the negatives": (
        {"options": {"metric": "hits@20"}},
        "links.csv: metric hits@20 needs at least 20 pairs without a link; valid has 3",
    ),
    "another task's metric": (
        {"options": {"metric": "accuracy"}},
        "task metric is 'accuracy'; expected rocauc or ap or hits@20 or hits@50 or hits@100 or mrr for a task on links",
    ),
    "not a table": ({"links": "links.txt"}, "links.txt: expected a name that ends in .csv, .csv.gz, "),
    "two columns of a name": (
        {"header": ("source", "target", "target"), "rows": [("a", "b", "c")]},
        "links.csv: two columns are called 'target'",
    ),
    "a short row": ({"rows": [("a", "b"), ("c",)]}, "links.csv: row 2 has 1 columns; expected 2"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_line(mistake: str, tmp_path: Path) -> None:
    given, expected = MISTAKES[mistake]
    path = tmp_path / (given.get("links", "links.csv") or "links.csv")
    if given.get("links", "") is not None:
        write(path, given.get("header", HEADER), given.get("rows", LINKS))
    nodes = edges = None
    if (rows := given.get("nodes")) is not None:
        nodes = write(
            tmp_path / "nodes.csv", ("id", "size"), [(f"n{i}", i) for i in range(10)] if rows is True else rows
        )
    if (rows := given.get("edges")) is not None:
        edges = write(tmp_path / "edges.csv", given.get("edge_header", HEADER), rows)
    options = given.get("options", {}) | ({"split_column": "split"} if given.get("split") else {})
    with pytest.raises(InputError, match=expected) as found:
        read_links(path, nodes, edges, root=tmp_path, **options)
    assert "\n" not in str(found.value)
