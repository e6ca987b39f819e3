"""Training on links: what can be learned is learned, what cannot is not, and a run is the same bits again."""

import signal
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deepergcn.data import read_links
from deepergcn.data.batching.links import LinkBatches
from deepergcn.errors import InputError
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.dataset import LoadedData
from deepergcn.runs.run import Run
from deepergcn.training.own_data import OwnData, own_links
from deepergcn.training.signals import Interrupted
from deepergcn.training.train import train
from tests.data.links.tables import edges_file, links_file, nodes_file, random_links, write
from tests.training.small import repeatable

SMALL = ("model.hidden_channels=8", "model.num_layers=2", "training.epochs=3", "training.batch_size=30")


def run(found: OwnData, out: Path, *settings: str, **options: Any) -> Run:
    return train("own-links", settings=(*found.settings, *settings), loaded=found.loaded, out=out, **options)


def communities(folder: Path, nodes: int = 60) -> Path:
    """Links within five groups alone, between most of their nodes."""
    rng = np.random.default_rng(0)
    pairs = [(f"n{a}", f"n{b}") for a in range(nodes) for b in range(a) if (a - b) % 5 == 0 and rng.random() < 0.8]
    return write(folder / "links.csv", ("source", "target"), pairs)


def test_links_within_groups_are_learned(tmp_path: Path) -> None:
    found = own_links(communities(tmp_path), root=tmp_path)
    settings = ("model.hidden_channels=32", "model.num_layers=2", "model.dropout=0", "optimizer.lr=0.01")
    summary = run(found, tmp_path / "run", *settings, "training.batch_size=70", "training.epochs=12").summary()
    assert summary is not None
    assert summary.metric == "rocauc"
    assert summary.test_score is not None
    assert summary.test_score > 0.9


def random_network(folder: Path, nodes: int = 600, count: int = 900, width: int = 32) -> OwnData:
    """Links and features that nothing can be learned from, two fifths of the links in test."""
    rng = np.random.default_rng(0)
    parts = ("train", "train", "test", "test", "valid")
    rows = [(*pair, parts[i % 5]) for i, pair in enumerate(random_links(nodes, count))]
    links = write(folder / "links.csv", ("source", "target", "split"), rows)
    features = [(f"n{i}", *rng.normal(size=width).round(3)) for i in range(nodes)]
    return own_links(
        links, write(folder / "nodes.csv", ("id", *(f"f{i}" for i in range(width))), features), root=folder
    )


def with_leak(found: OwnData) -> OwnData:
    """The links of valid and test are among the edges that messages pass over."""
    dataset = found.loaded.dataset
    assert dataset.pairs is not None
    links = dataset.pairs[:, dataset.y[:, 0] == 1].int()
    leaking = dataset.replace(edge_index=links, edge_ptr=torch.tensor([0, links.shape[1]]))
    return OwnData(found.settings, LoadedData(found.loaded.section, leaking))


def test_random_links_cannot_be_told_unless_they_leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = random_network(tmp_path)
    test = found.loaded.dataset.split["test"]
    count = int((found.loaded.dataset.y[test] == 1).sum())
    deviation = ((2 * count + 1) / (12 * count * count)) ** 0.5  # of the area under the curve of a random order

    def score(found: OwnData, out: str) -> float:
        settings = ["model.hidden_channels=32", "model.num_layers=2", "model.dropout=0", "optimizer.lr=0.01"]
        settings += ["model.network=ResGCN+", "model.aggr=mean", "model.beta=null"]
        settings += ["training.batch_size=90", "training.epochs=10"]
        last = run(found, tmp_path / out, *settings).metrics()[-1]["test_score"]
        assert last is not None
        return last

    assert abs(score(found, "honest") - 0.5) < 4 * deviation
    monkeypatch.setattr(LinkBatches, "_without", lambda batches, hidden: copy(batches.whole))
    assert score(with_leak(found), "leaking") > 0.5 + 4 * deviation


class StopAt(Callback):
    """Asks the run to stop after some step of some epoch."""

    def __init__(self, epoch: int, step: int) -> None:
        self.place = (epoch, step)

    def on_step_end(self, epoch: int, step: int, loss: float) -> None:
        if (epoch, step) == self.place:
            signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("tables", [("nodes", "edges"), ()])
def test_a_run_that_is_stopped_in_an_epoch_ends_as_if_it_had_not_been(tables: Sequence[str], tmp_path: Path) -> None:
    links = links_file(tmp_path)
    nodes, edges = nodes_file(tmp_path), edges_file(tmp_path)
    found = own_links(
        links, nodes if "nodes" in tables else None, edges if "edges" in tables else None, negatives=2, root=tmp_path
    )
    settings = (*SMALL, "model.dropout=0.3", "links.negatives=2", "evaluation.train=true")
    whole = run(found, tmp_path / "whole", *settings)
    with pytest.raises(Interrupted):
        run(found, tmp_path / "stopped", *settings, callbacks=[StopAt(2, 3)])
    resumed = train(out=tmp_path / "stopped", resume=True)
    assert repeatable(whole) == repeatable(resumed)
    rows = whole.metrics()
    assert len(rows) == 3
    assert all(row["train_score"] is not None and row["valid_loss"] is not None for row in rows)


def test_what_was_found_and_removed_is_said(tmp_path: Path) -> None:
    pairs = random_links(20, 60)
    links = write(tmp_path / "links.csv", ("source", "target"), [*pairs, pairs[3][::-1]])
    over = "each training step hides its own links from them"
    assert own_links(links, root=tmp_path).lines() == [
        ("data", "links.csv: 61 rows"),
        ("split", "random: train 48, valid 6, test 6"),
        ("metric", "rocauc (the default for a task on links; change it with --metric)"),
        ("graph", "60 links between 20 nodes; 6 and 6 pairs without a link drawn to score valid and test"),
        ("graph", "repeated rows, counted once: 1"),
        ("graph", f"messages pass over the 48 train links alone; {over}"),
        ("graph", "nodes have no features: each has a learned embedding"),
    ]
    edges = write(tmp_path / "edges.csv", ("source", "target"), pairs)
    removed = "(12 that join a valid or test link were removed)"
    said = own_links(links, edges=edges, root=tmp_path).lines()
    assert ("graph", f"messages pass over the 48 edges {removed}; {over}") in said


def test_one_number_as_two_ids_is_said(tmp_path: Path) -> None:
    names = {"n0": "7", "n1": "007"}
    pairs = [(names.get(a, a), names.get(b, b)) for a, b in random_links(20, 60)]
    found = own_links(write(tmp_path / "links.csv", ("source", "target"), pairs), root=tmp_path)
    assert found.lines()[-1] == (
        "caution",
        "ids '7' and '007' are different nodes, since ids are compared as text; write them the same way if they "
        "are one node",
    )


def test_settings_follow_from_the_tables(tmp_path: Path) -> None:
    found = own_links(links_file(tmp_path), nodes_file(tmp_path), metrics=["pr-auc", "mrr"], root=tmp_path)
    assert "training.batch_size=12" in found.settings
    assert found.loaded.dataset.task.metric == "ap"
    assert 'evaluation.metrics=["ap", "mrr"]' in found.settings
    assert found.loaded.section.reader == "links"
    assert read_links(tmp_path / "links.csv", tmp_path / "nodes.csv", root=tmp_path).x is not None


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (random_links(9, 3), r"links.csv: has 3 links, which leaves none for valid; expected at least 10"),
        (
            [(*pair, "train" if i < 9 else "valid") for i, pair in enumerate(random_links(9, 12))],
            r"links.csv: has 12 links, which leaves none for test; expected at least 10",
        ),
        ([(*pair, "later") for pair in random_links(9, 3)], r"'later'; .*; --split random splits at random instead"),
    ],
)
def test_too_few_links_for_a_part_are_an_error(rows: list[tuple[str, ...]], expected: str, tmp_path: Path) -> None:
    header = ("source", "target", "split")[: len(rows[0])]
    with pytest.raises(InputError, match=expected):
        own_links(write(tmp_path / "links.csv", header, rows), root=tmp_path)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("training.partitions=2", "partitions is 2; expected 1, since a task on links uses the whole graph"),
        ("links.negatives=0", "links.negatives is 0; Input should be greater than or equal to 1"),
        ("links.predictor_layers=0", "links.predictor_layers is 0; Input should be greater than or equal to 1"),
        ("model.node_encoder=none", r"model.node_encoder is none; expected 8 numbers per node, got \(30,\)"),
        ("data.options.metric=hits@50", "metric hits@50 needs at least 50 pairs without a link"),
        ("data.options.directions=2", "has no option 'directions'; its options: id_column"),
        ("data.reader=tables", "data.reader is 'tables'; Input should be 'links'"),
    ],
)
def test_a_setting_that_does_not_fit_is_one_clear_line(setting: str, expected: str, tmp_path: Path) -> None:
    found = own_links(links_file(tmp_path), root=tmp_path)
    with pytest.raises(InputError, match=expected):
        run(found, tmp_path / "run", *SMALL, setting)
