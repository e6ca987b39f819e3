"""Batches on the device of the network, and what keeps a GPU from being waited for."""

from pathlib import Path

import pytest
import torch

from deepergcn.data import load_dataset
from deepergcn.data.batching.sources import batch_source
from deepergcn.ops import Adjacency
from deepergcn.training.scoring.losses import present_labels
from deepergcn.training.steps import labelled
from deepergcn.training.transfer import on_device
from tests.training.small import network


def test_batches_keep_their_labels_and_are_counted(tmp_path: Path) -> None:
    dataset = load_dataset(network(tmp_path))
    source = batch_source(dataset, seed=0, partitions=2, batch_size=2)
    plain = [labelled(batch, batch.y)[1] for batches in source.steps(1) for batch in batches]
    moved = [pair for batches in on_device(source.steps(1), torch.device("cpu")) for pair in batches]
    for (batch, count), expected in zip(moved, plain, strict=True):
        outputs, targets = labelled(batch, batch.y)
        torch.testing.assert_close(targets, expected, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(outputs, targets, rtol=0, atol=0, equal_nan=True)
        assert count == int(present_labels(expected).sum())


@pytest.mark.parametrize("is_finite", [True, False])
def test_a_fused_step_leaves_out_a_gradient_that_is_not_finite(is_finite: bool) -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([weight], lr=0.1, fused=True)
    weight.grad = torch.tensor([1.0, 1.0, 1.0 if is_finite else torch.nan])
    optimizer.found_inf = torch.tensor(0.0 if is_finite else 1.0)  # type: ignore[attr-defined]
    optimizer.step()
    assert torch.equal(weight.detach(), torch.ones(3)) != is_finite


def test_every_tensor_of_a_structure_is_changed() -> None:
    adjacency = Adjacency.from_edge_index(torch.tensor([[0, 1], [1, 0]]), 2)
    moved = adjacency.to("meta")
    names = ("rowptr", "source", "edge", "rowptr_t", "target", "edge_t")
    assert {getattr(moved, name).device.type for name in names} == {"meta"}
