"""Labels as inputs: those of train nodes alone, and in a step never those that it learns from."""

from typing import Any

import pytest
import torch

from deepergcn.data import Dataset, Task, apply_transforms
from deepergcn.data.batching.known_labels import hide_labels
from deepergcn.data.batching.partitions import RandomPartitions, WholeGraph
from deepergcn.errors import InputError
from tests.data.batching.test_partitions import network
from tests.data.examples import one_network, two_molecules

NAN = float("nan")


def labelled(task: Task, y: Any) -> Dataset:
    """Four nodes with one feature, of which the last is in valid."""
    split = {"train": torch.tensor([0, 1, 2]), "valid": torch.tensor([3]), "test": torch.tensor([]).long()}
    return one_network(task=task, y=torch.tensor(y), split=split)


@pytest.mark.parametrize(
    ("task", "y", "expected"),
    [
        (Task("node", "multi-class", 3, "accuracy"), [2, 0, -1, 1], [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]]),
        (
            Task("node", "multi-label", 2, "rocauc"),
            [[0.0, 1.0], [1.0, NAN], [1.0, 1.0], [1.0, 1.0]],
            [[-1, 1], [1, 0], [1, 1], [0, 0]],
        ),
        (Task("node", "regression", 1, "rmse"), [[10.0], [30.0], [NAN], [99.0]], [[-1], [1], [0], [0]]),
    ],
    ids=["classes", "labels", "numbers"],
)
def test_columns_of_labels(task: Task, y: Any, expected: list[list[float]]) -> None:
    changed = apply_transforms(labelled(task, y), ["known-labels"])
    assert changed.x is not None
    assert changed.label_columns == (1, 1 + task.outputs)
    assert changed.x[:, 0].tolist() == [0.5, 1.0, -2.0, 0.25]
    assert changed.x[:, 1:].tolist() == expected


def test_labels_alone_are_features() -> None:
    changed = apply_transforms(one_network(x=None), ["known-labels"])
    assert changed.label_columns == (0, 3)
    assert changed.x is not None
    assert changed.x.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_a_step_learns_from_what_it_hides_and_sees_the_rest() -> None:
    dataset = apply_transforms(network(2000, 4000), ["known-labels"])
    assert dataset.label_columns is not None
    first, last = dataset.label_columns
    for batch in (WholeGraph(dataset).batch, *RandomPartitions(dataset, parts=2).batches()):
        before, train = batch.x.clone(), batch.train_mask.clone()
        step = hide_labels(batch, dataset.label_columns, 0.25, torch.Generator().manual_seed(1))
        assert torch.equal(batch.x, before)
        assert torch.equal(batch.train_mask, train)
        assert not step.x[step.train_mask, first:last].any()
        assert torch.equal(step.x[~step.train_mask], before[~step.train_mask])
        assert torch.equal(step.x[:, :first], before[:, :first])
        assert bool((train | ~step.train_mask).all())  # nothing outside the train part is learned from
        hidden, count = int(step.train_mask.sum()), int(train.sum())
        assert abs(hidden - 0.75 * count) < 5 * (count * 0.25 * 0.75) ** 0.5  # five standard deviations
        again = hide_labels(batch, dataset.label_columns, 0.25, torch.Generator().manual_seed(1))
        assert torch.equal(again.train_mask, step.train_mask)


@pytest.mark.parametrize(
    ("dataset", "transforms", "message"),
    [
        (two_molecules(), ["known-labels"], "the task of two-molecules labels graphs; expected nodes"),
        (one_network(x=None), ["learned-encoding", "known-labels"], "has node features that are categories"),
        (one_network(), ["known-labels", "known-labels"], "expected the transform once"),
    ],
    ids=["graphs", "categories", "twice"],
)
def test_where_labels_cannot_be_inputs(dataset: Dataset, transforms: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_transforms(dataset, transforms)
