"""OGB's layout of links, on files made by hand: what is read, what is removed, and what is refused."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deepergcn.data import load_dataset
from deepergcn.data.links.pairs import pair_keys
from deepergcn.data.ogb.layout_writer import write_layout
from deepergcn.data.ogb.numbers import write_numbers
from deepergcn.data.ogb.pt_file import read_arrays
from deepergcn.errors import InputError

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [1, 0], [5, 2], [2, 5]])
PARTS: dict[str, dict[str, Any]] = {
    "train": {"edge": np.array([[0, 1], [1, 2], [2, 3], [3, 4]]), "weight": np.ones(4, dtype=np.int64)},
    "valid": {"edge": np.array([[5, 2], [0, 4]]), "edge_neg": np.array([[0, 3], [1, 5], [4, 5]])},
    "test": {"edge": np.array([[0, 5]]), "edge_neg": np.array([[1, 4], [3, 5]]), "year": np.array([2019.0])},
}


def layout(folder: Path, *, features: bool = True, **parts: Any) -> Path:
    """A folder as OGB's archive of links has it."""
    raw, split = folder / "ogbl_made" / "raw", folder / "ogbl_made" / "split" / "time"
    raw.mkdir(parents=True)
    split.mkdir(parents=True)
    tables = {"edge": EDGES, "num-node-list": np.array([[6]]), "num-edge-list": np.array([[len(EDGES)]])}
    if features:
        tables["node-feat"] = np.arange(12, dtype=np.float32).reshape(6, 2)
    for name, table in tables.items():
        write_numbers(raw / f"{name}.csv.gz", table)
    for part, content in (PARTS | parts).items():
        if content is not None:
            torch.save(content, split / f"{part}.pt")
    return folder / "ogbl_made"


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
def test_links_and_pairs_without_one_are_read(make: Callable[[Any], Any], tmp_path: Path) -> None:
    parts: dict[str, Any] = {
        part: {name: make(array) for name, array in arrays.items()} for part, arrays in PARTS.items()
    }
    dataset = load_dataset(layout(tmp_path, **parts), root=tmp_path)
    assert dataset.pairs is not None
    assert dataset.pairs.T.tolist() == [
        *PARTS["train"]["edge"].tolist(),
        *PARTS["valid"]["edge"].tolist(),
        *PARTS["valid"]["edge_neg"].tolist(),
        *PARTS["test"]["edge"].tolist(),
        *PARTS["test"]["edge_neg"].tolist(),
    ]
    assert dataset.y.flatten().tolist() == [1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0]
    assert [len(dataset.split[part]) for part in ("train", "valid", "test")] == [4, 5, 3]
    assert dataset.x is not None
    assert dataset.x.shape == (6, 2)
    assert dataset.symmetric
    assert dataset.task.metric == "rocauc"


def test_edges_that_join_valid_or_test_links_are_removed_unless_they_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = layout(tmp_path)
    removed = load_dataset(folder, root=tmp_path)
    kept = load_dataset(folder, root=tmp_path, remove_evaluated=False)
    assert kept.edge_index.T.tolist() == EDGES.tolist()
    assert removed.edge_index.T.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [1, 0]]
    evaluated = pair_keys(np.array([[5, 0, 0], [2, 4, 5]]), 6)
    assert not set(pair_keys(removed.edge_index.numpy(), 6)) & set(evaluated)
    assert caplog.messages == [
        "ogbl_made: 3 edges that join a valid or test link were removed from the messages",
        "ogbl_made: 3 edges that join a valid or test link stay among the messages, as OGB publishes them",
    ]
    assert load_dataset(folder, root=tmp_path).edge_index.shape == (2, 5)  # from the cache


def test_nodes_without_features_have_embeddings(tmp_path: Path) -> None:
    dataset = load_dataset(layout(tmp_path, features=False), root=tmp_path, metric="mrr")
    assert dataset.x_categories == (6,)
    assert dataset.task.metric == "mrr"


class Hostile:
    def __reduce__(self) -> Any:
        return os.mkdir, ("hostile",)


class Unknown:
    """Nothing that a split holds."""


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no file": ({"valid": None}, "time: has no valid.pt, which OGB's layout of links needs"),
    "code": (
        {"test": {"edge": Hostile()}},
        r"test.pt: cannot be read as a split .* \(refused: it asks for code to be run\)",
    ),
    "a class": ({"test": Unknown()}, r"test.pt: cannot be read as a split .* \(refused: it asks for code to be run\)"),
    "a list": ({"train": [1, 2]}, "train.pt: expected a dictionary of arrays by name"),
    "no edges": ({"train": {"links": np.ones((2, 2), int)}}, "train.pt: has no array 'edge' .*; its arrays: links"),
    "numbers": ({"train": {"edge": np.ones((2, 2))}}, "train.pt: has no array 'edge' .*; its arrays: none"),
    "objects": (
        {"train": {"edge": np.array([[1, None]])}},
        "train.pt: (has no array 'edge'|the array 'edge' is damaged)",
    ),
    "no negatives": ({"valid": {"edge": np.array([[0, 4]])}}, "valid.pt: has no array 'edge_neg'"),
    "a shape": ({"train": {"edge": np.array([[0, 1, 2]])}}, r"train.pt: the array 'edge' has the shape \[1, 3\]"),
    "no rows": (
        {"train": {"edge": torch.empty(0, 2, dtype=torch.int64)}},
        r"the array 'edge' has the shape \[0, 2\]; expected \[pairs, 2\]",
    ),
    "a node": ({"train": {"edge": np.array([[0, 1], [2, 6]])}}, r"edge 1 joins nodes \[2, 6\]; expected 0 to 5"),
    "a negative node": ({"test": PARTS["test"] | {"edge": np.array([[-1, 1]])}}, r"edge 0 joins nodes \[-1, 1\]"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_line_and_nothing_runs(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, expected = MISTAKES[mistake]
    folder = layout(tmp_path, **parts)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=expected) as found:
        load_dataset(folder, root=tmp_path)
    assert "\n" not in str(found.value)
    assert not (tmp_path / "hostile").exists()


def test_a_damaged_file_and_k_above_the_negatives_are_named(tmp_path: Path) -> None:
    folder = layout(tmp_path)
    with pytest.raises(InputError, match="metric hits@20 needs at least 20 pairs without a link; valid has 3"):
        load_dataset(folder, root=tmp_path, metric="hits@20")
    file = folder / "split" / "time" / "train.pt"
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(InputError, match=r"train.pt: cannot be read as a split of arrays and plain values \(damaged"):
        load_dataset(folder, root=tmp_path)


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_arrays_are_read_exactly_in_any_order_or_refused(protocol: int, kind: Any, tmp_path: Path) -> None:
    numbers = np.arange(12, dtype=kind).reshape(6, 2)
    content = {"rows": numbers, "columns": np.asfortranarray(numbers), "text": "left out"}
    torch.save(content, tmp_path / "a.pt", pickle_protocol=protocol)
    if protocol == 2:
        found = read_arrays(tmp_path / "a.pt")
        assert {name: array.tolist() for name, array in found.items()} == dict.fromkeys(
            ("rows", "columns"), numbers.tolist()
        )
    else:  # which torch's reader does not know
        with pytest.raises(InputError, match="cannot be read as a split of arrays and plain values"):
            read_arrays(tmp_path / "a.pt")


def test_links_are_not_written_in_ogbs_layout(tmp_path: Path) -> None:
    dataset = load_dataset(layout(tmp_path), root=tmp_path)
    with pytest.raises(InputError, match="has links, which can be read from OGB's layout but not written in it"):
        write_layout(dataset, tmp_path / "out")
