"""Small datasets that the tests of this room share."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.task import Task
from deepergcn.ops import Adjacency


def two_molecules(**changes: Any) -> Dataset:
    """Two graphs (3 nodes with 2 edges, 2 nodes with 1 edge) of categories, and one label missing."""
    fields: dict[str, Any] = {
        "name": "two-molecules",
        "task": Task("graph", "multi-label", 2, "rocauc"),
        "node_ptr": torch.tensor([0, 3, 5]),
        "edge_ptr": torch.tensor([0, 2, 3]),
        "edge_index": torch.tensor([[0, 1, 0], [1, 2, 1]], dtype=torch.int32),
        "symmetric": True,
        "x": torch.tensor([[5, 0], [6, 1], [7, 0], [0, 1], [8, 1]], dtype=torch.uint8),
        "x_categories": (9, 2),
        "edge_attr": torch.tensor([[0], [2], [1]], dtype=torch.uint8),
        "edge_categories": (3,),
        "y": torch.tensor([[0.0, 1.0], [1.0, float("nan")]]),
        "split": {"train": torch.tensor([1]), "valid": torch.tensor([0]), "test": torch.tensor([]).long()},
        "digest": "made here",
    }
    return Dataset(**{**fields, **changes})


def one_network(**changes: Any) -> Dataset:
    """One directed graph of 4 nodes with real features, 3 classes, one label missing, and years."""
    fields: dict[str, Any] = {
        "name": "one-network",
        "task": Task("node", "multi-class", 3, "accuracy"),
        "node_ptr": torch.tensor([0, 4]),
        "edge_ptr": torch.tensor([0, 3]),
        "edge_index": torch.tensor([[0, 1, 3], [1, 2, 3]], dtype=torch.int32),
        "symmetric": False,
        "x": torch.tensor([[0.5], [1.0], [-2.0], [0.25]]),
        "y": torch.tensor([2, 0, -1, 1]),
        "split": {"train": torch.tensor([0]), "valid": torch.tensor([3]), "test": torch.tensor([1])},
        "node_extra": {"year": torch.tensor([2001, 2002, 2003, 2004])},
        "digest": "made here",
    }
    return Dataset(**{**fields, **changes})


def assert_same(a: Dataset, b: Dataset) -> None:
    """The two datasets are equal in every field but the digest, types of numbers included."""
    for field in dataclasses.fields(Dataset):
        if field.name != "digest":
            left, right = getattr(a, field.name), getattr(b, field.name)
            _assert_equal(left, right, field.name)


def assert_same_structure(a: Adjacency, b: Adjacency) -> None:
    """The two structures are equal in every field, types of numbers included."""
    for field in dataclasses.fields(Adjacency):
        _assert_equal(getattr(a, field.name), getattr(b, field.name), field.name)


def _assert_equal(left: Any, right: Any, name: str) -> None:
    if isinstance(right, Mapping):
        assert set(left) == set(right), name
        for key in right:
            _assert_equal(left[key], right[key], f"{name} {key}")
    elif isinstance(right, torch.Tensor):
        assert left.dtype == right.dtype, name
        assert left.shape == right.shape, name
        assert torch.equal(left.nan_to_num(nan=-7.5), right.nan_to_num(nan=-7.5)), name
    else:
        assert left == right, name
