"""Transforms: each against its definition or PyG's own function, and each only where it applies."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import add_remaining_self_loops, scatter, to_undirected

from deepergcn.data import Dataset, Task, apply_transforms
from deepergcn.errors import InputError
from tests.data.examples import assert_same, one_network, two_molecules
from tests.data.generated import datasets


def with_evidence(**changes: Any) -> Dataset:
    """One directed graph with two features an edge; the last node has no edge."""
    fields: dict[str, Any] = {
        "edge_index": torch.tensor([[0, 1, 0], [1, 2, 2]], dtype=torch.int32),
        "edge_attr": torch.tensor([[0.5, -1.0], [0.25, -2.0], [1.0, -4.0]]),
        "node_extra": {"species": torch.tensor([9606, 4932, 9606, 10090])},
        "x": None,
    }
    return one_network(**{**fields, **changes})


def bare(dataset: Dataset) -> Dataset:
    return dataset.replace(edge_attr=None, edge_categories=None)


def test_sum_mean_and_max_of_in_edges() -> None:
    expected = {
        "sum": [[0.0, 0.0], [0.5, -1.0], [1.25, -6.0], [0.0, 0.0]],
        "mean": [[0.0, 0.0], [0.5, -1.0], [0.625, -3.0], [0.0, 0.0]],
        "max": [[0.0, 0.0], [0.5, -1.0], [1.0, -2.0], [0.0, 0.0]],
    }
    for reduce, rows in expected.items():
        changed = apply_transforms(with_evidence(), [{"name": "node-features-from-edges", "reduce": reduce}])
        assert changed.x is not None
        assert changed.x.tolist() == rows, reduce


def test_sum_is_the_default_and_counts_both_directions_of_symmetric_edges() -> None:
    changed = apply_transforms(with_evidence(symmetric=True), ["node-features-from-edges"])
    assert changed.x is not None
    assert changed.x.tolist() == [[1.5, -5.0], [0.75, -3.0], [1.25, -6.0], [0.0, 0.0]]


@given(datasets(), st.sampled_from(["sum", "mean", "max"]), st.integers(0, 2**32 - 1))
def test_node_features_are_those_of_pyg(dataset: Dataset, reduce: str, seed: int) -> None:
    edge_attr = torch.randn(dataset.num_edges, 3, generator=torch.Generator().manual_seed(seed))
    dataset = dataset.replace(edge_attr=edge_attr, edge_categories=None, x=None, x_categories=None)
    changed = apply_transforms(dataset, [{"name": "node-features-from-edges", "reduce": reduce}])
    for i in range(len(dataset)):
        graph = dataset.graph(i)
        expected = scatter(graph.edge_attr, graph.edge_index[1], dim_size=graph.num_nodes, reduce=reduce)
        torch.testing.assert_close(changed.graph(i).x, expected)


def test_species_follow_the_sums() -> None:
    changed = apply_transforms(with_evidence(), ["node-features-from-edges", "one-hot-species"])
    assert changed.x is not None
    assert changed.x[:, :2].tolist() == [[0.0, 0.0], [0.5, -1.0], [1.25, -6.0], [0.0, 0.0]]
    assert changed.x[:, 2:].tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


@given(datasets())
def test_undirected_is_that_of_pyg(dataset: Dataset) -> None:
    dataset = bare(dataset).replace(symmetric=False)
    changed = apply_transforms(dataset, ["undirected"])
    assert apply_transforms(changed, ["undirected"]).edge_index.tolist() == changed.edge_index.tolist()
    for i in range(len(dataset)):
        graph = dataset.graph(i)
        expected = to_undirected(graph.edge_index, num_nodes=graph.num_nodes)
        assert torch.equal(changed.graph(i).edge_index, expected)


def test_symmetric_dataset_is_undirected_already() -> None:
    dataset = two_molecules()
    assert apply_transforms(dataset, ["undirected"]) is dataset


def test_undirected_keeps_equal_features_and_refuses_others() -> None:
    edge_index = torch.tensor([[2, 1, 0, 3], [1, 2, 1, 3]], dtype=torch.int32)
    edge_attr = torch.tensor([[7.0], [7.0], [5.0], [6.0]])
    changes: dict[str, Any] = {"edge_ptr": torch.tensor([0, 4]), "edge_index": edge_index}
    changed = apply_transforms(with_evidence(edge_attr=edge_attr, **changes), ["undirected"])
    assert changed.edge_index.tolist() == [[0, 1, 1, 2, 3], [1, 0, 2, 1, 3]]
    assert changed.edge_attr is not None
    assert changed.edge_attr[:, 0].tolist() == [5.0, 5.0, 7.0, 7.0, 6.0]
    edge_attr[1] = 8.0
    with pytest.raises(InputError, match=r"undirected: the edges between . and . of graph 0 in one-network have diff"):
        apply_transforms(with_evidence(edge_attr=edge_attr, **changes), ["undirected"])


@given(datasets())
def test_self_loops_are_those_of_pyg(dataset: Dataset) -> None:
    dataset = bare(dataset)
    changed = apply_transforms(dataset, ["self-loops"])
    for i in range(len(dataset)):
        graph, found = dataset.graph(i), changed.graph(i).edge_index
        loops = graph.edge_index[0] == graph.edge_index[1]
        # PyG moves the loops that are there to the end.
        expected, _ = add_remaining_self_loops(graph.edge_index[:, ~loops], num_nodes=graph.num_nodes)
        kept = graph.edge_index.shape[1]
        assert torch.equal(found[:, :kept], graph.edge_index)
        assert set(map(tuple, found.T.tolist())) == set(map(tuple, expected.T.tolist()))
        assert found.shape[1] - kept == graph.num_nodes - len(graph.edge_index[0, loops].unique())


def test_features_of_self_loops_are_filled() -> None:
    changed = apply_transforms(with_evidence(symmetric=True), [{"name": "self-loops", "fill": 0.5}])
    assert changed.edge_attr is not None
    assert changed.num_edges == 10
    assert changed.edge_attr[6:].tolist() == [[0.5, 0.5]] * 4
    assert changed.edge_attr[:6].tolist() == [[0.5, -1], [0.5, -1], [0.25, -2], [0.25, -2], [1, -4], [1, -4]]


def test_undirected_then_self_loops_as_for_ogbn_arxiv() -> None:
    changed = apply_transforms(one_network(), ["undirected", "self-loops"])
    pairs = {(0, 1), (1, 0), (1, 2), (2, 1), (0, 0), (1, 1), (2, 2), (3, 3)}
    assert set(map(tuple, changed.graph(0).edge_index.T.tolist())) == pairs
    assert changed.num_edges == len(pairs)


def test_dataset_itself_is_not_changed() -> None:
    dataset = with_evidence()
    apply_transforms(dataset, [*({"name": "self-loops", "fill": 0.0},), "node-features-from-edges", "one-hot-species"])
    assert_same(dataset, with_evidence())


@pytest.mark.parametrize(
    ("dataset", "transform", "message"),
    [
        (with_evidence(), "rotate", "there is no transform 'rotate'; expected one of degree-encoding, "),
        (with_evidence(), {"reduce": "sum"}, "there is no transform None"),
        (with_evidence(), {"name": "undirected", "fast": True}, "undirected: has no option 'fast'; its options: none"),
        (with_evidence(), {"name": "self-loops", "value": 1}, "self-loops: has no option 'value'; its options: fill"),
        (
            with_evidence(),
            {"name": "node-features-from-edges", "reduce": "min"},
            "reduce is 'min'; expected one of sum, mean, max",
        ),
        (one_network(), "node-features-from-edges", "one-network has no edge features; expected numbers"),
        (two_molecules(), "node-features-from-edges", "two-molecules has edge features that are categories"),
        (one_network(), "one-hot-species", "has no integer column species; its columns: year"),
        (with_evidence(), "self-loops", "one-network has edge features that are numbers; expected fill"),
        (two_molecules(), {"name": "self-loops", "fill": 1.0}, "are categories; expected numbers, or none"),
        (one_network(), {"name": "self-loops", "fill": 1.0}, "fill is 1.0, but one-network has no edge features"),
    ],
)
def test_where_a_transform_does_not_apply(dataset: Dataset, transform: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_transforms(dataset, [transform])


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        ({"name": []}, r"there is no transform \[\]"),
        ({"name": "node-features-from-edges", "reduce": []}, r"reduce is \[\]; expected one of sum, mean, max"),
        ({"name": "self-loops", "fill": "x"}, "fill is 'x'; expected a number within float32"),
        ({"name": "self-loops", "fill": float("nan")}, "fill is nan; expected a number within float32"),
        ({"name": "self-loops", "fill": 1e39}, r"fill is 1e\+39; expected a number within float32"),
    ],
)
def test_options_that_are_none(transform: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_transforms(with_evidence(), [transform])


def test_sums_beyond_float32_and_memory_are_refused() -> None:
    large = with_evidence(edge_attr=torch.full((3, 2), 3e38))
    with pytest.raises(InputError, match="the sum at node 2 of one-network exceeds float32"):
        apply_transforms(large, ["node-features-from-edges"])
    many = 2**40
    edges = two_molecules().edge_index.long()
    none = torch.empty(0, dtype=torch.int64)
    claimed = two_molecules(
        task=Task("graph", "binary", 1, "rocauc"),
        node_ptr=torch.tensor([0, 3, many]),
        edge_index=edges,
        x=None,
        x_categories=None,
        edge_attr=torch.ones(3, 1),
        edge_categories=None,
        y=torch.tensor([[0.0], [1.0]]),
        split={"train": torch.tensor([0, 1]), "valid": none, "test": none},
    )
    with pytest.raises(InputError, match="GB of memory; this machine has less"):
        apply_transforms(claimed, ["node-features-from-edges"])


@given(datasets(), st.integers(1, 5))
def test_random_walks_return_with_the_diagonal_of_the_powers_of_their_step(dataset: Dataset, steps: int) -> None:
    plain = dataset.replace(x=None, x_categories=None)
    changed = apply_transforms(plain, [{"name": "random-walk", "steps": steps}])
    assert changed.x is not None
    for i in range(len(plain)):
        graph = plain.graph(i)
        assert graph.num_nodes is not None
        step = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
        for u, v in graph.edge_index.T.tolist():
            step[u, v] += 1.0
        step /= step.sum(1, keepdim=True).clamp(min=1.0)
        expected = torch.stack([torch.linalg.matrix_power(step, k).diagonal() for k in range(1, steps + 1)], 1)
        torch.testing.assert_close(changed.graph(i).x, expected.float())


def test_a_walk_on_a_triangle_returns_as_it_must_and_keeps_the_features() -> None:
    ring = with_evidence(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]], dtype=torch.int32), x=torch.ones(4, 2))
    changed = apply_transforms(ring, [{"name": "random-walk", "steps": 3}])
    assert changed.x is not None
    assert changed.x.tolist() == [[1, 1, 0, 0, 1]] * 3 + [[1, 1, 0, 0, 0]]
    with pytest.raises(InputError, match=r"random-walk: steps is 0; expected an integer from 1 to 1000"):
        apply_transforms(ring, [{"name": "random-walk", "steps": 0}])


@given(datasets())
def test_numbers_follow_the_categories_of_nodes_which_stay(dataset: Dataset) -> None:
    changed = apply_transforms(dataset, [{"name": "random-walk", "steps": 3}, "degree-encoding"])
    assert changed.x is not None
    assert changed.x.dtype == torch.float32
    assert changed.x_categories == dataset.x_categories
    assert changed.node_numbers == (20 if dataset.x_categories is not None else 0)
    if dataset.x is not None:
        assert torch.equal(changed.x[:, :-20], dataset.x.float())
    bare = apply_transforms(dataset.replace(x=None, x_categories=None), [{"name": "random-walk", "steps": 3}])
    assert bare.x is not None
    assert torch.equal(changed.x[:, -20:-17], bare.x)


def test_rows_are_divided_by_their_sum_and_empty_ones_stay() -> None:
    words = with_evidence(x=torch.tensor([[1.0, 3.0], [0.0, 0.0], [0.5, 0.0], [2.0, 2.0]]))
    changed = apply_transforms(words, ["row-normalize"])
    assert changed.x is not None
    assert changed.x.tolist() == [[0.25, 0.75], [0.0, 0.0], [1.0, 0.0], [0.5, 0.5]]
    for wrong in (with_evidence(), with_evidence(x=torch.tensor([[-1.0]] * 4)), two_molecules()):
        with pytest.raises(InputError, match=r"row-normalize: .* has no node features that are numbers of at least 0"):
            apply_transforms(wrong, ["row-normalize"])
