"""Features of the structure alone: by hand."""

import pytest
import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.encodings import degree_features, return_probabilities
from deepergcn.data.task import Task
from deepergcn.data.transforms import apply_transforms
from deepergcn.errors import InputError


def graph(edges: list[tuple[int, int]], nodes: int, symmetric: bool = True) -> Dataset:
    return Dataset(
        name="graph",
        task=Task("node", "multi-class", 2, "accuracy"),
        node_ptr=torch.tensor([0, nodes]),
        edge_ptr=torch.tensor([0, len(edges)]),
        edge_index=torch.tensor(edges, dtype=torch.int32).T.contiguous(),
        symmetric=symmetric,
        y=torch.zeros(nodes, dtype=torch.int64),
        split={"train": torch.arange(nodes), "valid": torch.arange(0), "test": torch.arange(0)},
        digest="made here",
    )


STAR = graph([(0, i) for i in range(1, 20)], 21)


def test_degrees() -> None:
    found = degree_features(STAR)
    assert found.shape == (21, 17)
    torch.testing.assert_close(found[[0, 1, 20], 0], torch.tensor([19.0, 1.0, 0.0]).log1p())
    assert found[:, 1:].argmax(1).tolist() == [15] + [1] * 19 + [0]
    directed = degree_features(graph([(0, 1), (0, 2)], 3, symmetric=False))
    assert directed[:, 1:].argmax(1).tolist() == [0, 1, 1]


def test_walks_in_a_graph_of_many_nodes_are_those_in_small_ones() -> None:
    nodes = 70
    ring = torch.stack((torch.arange(nodes), (torch.arange(nodes) + 1) % nodes))
    small, large = torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.cat((ring, ring.flip(0)), 1)
    edges = torch.cat((small, large), 1)
    graph_of = torch.tensor([0] * 3 + [1] * 140)
    made = return_probabilities(edges, graph_of, torch.tensor([0, 3, 73]), 6)
    assert made[:3].tolist() == [[0, 0, 1, 0, 0, 1]] * 3
    assert made[3:].tolist() == [[0, 0.5, 0, 0.375, 0, 0.3125]] * nodes  # of 2k steps, k to each side: C(2k, k) / 4^k


def test_as_transforms() -> None:
    encoded = apply_transforms(STAR, ["degree-encoding", {"name": "random-walk", "steps": 3}])
    assert encoded.x is not None
    assert encoded.x.shape == (21, 20)
    assert encoded.x[1, 17:].tolist() != [0, 0, 0]
    assert encoded.x[20, 17:].tolist() == [0, 0, 0]
    learned = apply_transforms(STAR, ["learned-encoding"])
    assert (learned.x_categories, learned.x is not None and learned.x[:3, 0].tolist()) == ((21,), [0, 1, 2])
    with pytest.raises(InputError, match="learned-encoding: graph has node features; expected none"):
        apply_transforms(encoded, ["learned-encoding"])
