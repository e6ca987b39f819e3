"""Batches of links: no link of a step is among its messages, whatever the number of processes."""

from pathlib import Path

import numpy as np
import pytest
import torch

from deepergcn.data import read_links
from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.links import AllPairs, LinkBatches
from deepergcn.data.batching.sources import batch_source
from deepergcn.data.dataset import Dataset
from deepergcn.data.links.pairs import is_in, pair_keys
from deepergcn.errors import InputError
from deepergcn.ops import Adjacency
from tests.data.examples import one_network
from tests.data.links.tables import edges_file, links_file, random_links, write


@pytest.fixture(params=["links", "edges", "directed", "loops"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> Dataset:
    links = links_file(tmp_path)
    if request.param == "links":
        return read_links(links, root=tmp_path)
    rows = [
        *random_links(30, 120),
        *random_links(30, 50, seed=5),
        *([("n3", "n3")] if request.param == "loops" else []),
    ]
    edges = write(tmp_path / "edges.csv", ("source", "target", "w"), [(*row, i / 7) for i, row in enumerate(rows)])
    return read_links(links, edges=edges, directed=request.param == "directed", root=tmp_path)


def edge_keys(batch: GraphBatch) -> set[int]:
    return set(pair_keys(batch.edge_index.numpy(), batch.num_nodes).tolist())


def link_keys(batch: GraphBatch, label: int) -> list[int]:
    chosen = batch.edge_label_index[:, batch.y[:, 0] == label]
    keys: list[int] = pair_keys(chosen.numpy(), batch.num_nodes).tolist()
    return keys


def test_a_step_hides_its_own_links_and_no_other_edge(dataset: Dataset) -> None:
    source = LinkBatches(dataset, dataset.split["train"], batch_size=13, seed=1)
    assert len(source) == 8
    whole = AllPairs(dataset, dataset.split["test"]).batch
    seen = []
    for (batch,) in source.steps(epoch=2):
        mine = link_keys(batch, 1)
        seen += mine
        assert edge_keys(batch) == edge_keys(whole) - set(mine)
        joined = ~is_in(pair_keys(whole.edge_index.numpy(), 30), np.sort(mine))
        assert batch.edge_index.tolist() == whole.edge_index[:, torch.from_numpy(joined)].tolist()
        if dataset.edge_attr is not None:
            assert torch.equal(batch.edge_attr, whole.edge_attr[torch.from_numpy(joined)])
        built = Adjacency.from_edge_index(batch.edge_index, 30)
        assert torch.equal(batch.adjacency.rowptr, built.rowptr)
        assert torch.equal(batch.adjacency.source, built.source)
    assert dataset.pairs is not None
    every = pair_keys(dataset.pairs[:, dataset.split["train"]].numpy(), 30)
    assert sorted(seen) == sorted(every.tolist())


def test_pairs_without_a_link_are_not_known_in_training_and_may_be_links_of_valid_or_test(dataset: Dataset) -> None:
    source = LinkBatches(dataset, dataset.split["train"], batch_size=96, negatives=40, seed=1)
    assert dataset.pairs is not None
    train = set(pair_keys(dataset.pairs[:, dataset.split["train"]].numpy(), 30).tolist())
    known = train | set(pair_keys(dataset.edge_index.numpy(), 30).tolist())
    (batch,) = source.batches(epoch=0)
    drawn = set(link_keys(batch, 0))
    assert not drawn & known
    test = dataset.split["test"]
    hidden = set(pair_keys(dataset.pairs[:, test[dataset.y[test, 0] == 1]].numpy(), 30).tolist())
    assert hidden & drawn, "3,840 draws from some 339 pairs should meet one of 12"


@pytest.mark.parametrize("world", [2, 3])
def test_processes_share_the_links_of_a_step_and_hide_all_of_them(dataset: Dataset, world: int) -> None:
    links = dataset.split["train"][:95]
    alone = LinkBatches(dataset, links, batch_size=47, seed=4)
    sources = [LinkBatches(dataset, links, batch_size=47, seed=4, rank=r, world_size=world) for r in range(world)]
    shares = zip(*(source.steps(epoch=1) for source in sources), strict=True)
    for (whole,), batches in zip(alone.steps(epoch=1), shares, strict=True):
        parts = [batch for (batch,) in batches]
        assert all(torch.equal(part.edge_index, whole.edge_index) for part in parts)
        labelled = [part for part in parts if not bool(part.y.isnan().any())]
        assert len(labelled) == min(world, int(whole.y.sum()))
        for label in (0, 1):
            found = [key for part in labelled for key in link_keys(part, label)]
            assert sorted(found) == sorted(link_keys(whole, label))


def test_steps_are_the_same_from_the_middle_of_an_epoch_on(dataset: Dataset) -> None:
    source = LinkBatches(dataset, dataset.split["train"], batch_size=20, seed=2)
    every, rest = list(source.steps(3)), list(source.steps(3, start=3))
    assert len(every) == 5
    for (one,), (other,) in zip(every[3:], rest, strict=True):
        assert torch.equal(one.edge_label_index, other.edge_label_index)
        assert torch.equal(one.edge_index, other.edge_index)


def test_only_links_and_whole_graphs_are_taken(tmp_path: Path) -> None:
    dataset = read_links(links_file(tmp_path), edges=edges_file(tmp_path), root=tmp_path)
    with pytest.raises(InputError, match="partitions is 3; expected 1, since a task on links uses the whole graph"):
        batch_source(dataset, seed=0, partitions=3)
    with pytest.raises(InputError, match="negatives is 0; expected at least 1"):
        LinkBatches(dataset, dataset.split["train"], batch_size=2, negatives=0)
    with pytest.raises(InputError, match="has a task on nodes; expected one on links"):
        AllPairs(one_network(), torch.arange(2))
