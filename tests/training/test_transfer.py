"""Batches on the device of the network, and what keeps a GPU from being waited for."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from deepergcn.data import load_dataset
from deepergcn.data.batching.sources import batch_source
from deepergcn.ops import Adjacency
from deepergcn.training import transfer
from deepergcn.training.scoring.losses import present_labels
from deepergcn.training.steps import labelled
from deepergcn.training.transfer import Fetched, on_device, prefetched
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


def test_batches_of_the_host_stay_there_and_a_whole_graph_is_sent_once(tmp_path: Path) -> None:
    dataset, device = load_dataset(network(tmp_path)), torch.device("meta")
    for partitions in (1, 2):
        source = batch_source(dataset, seed=0, partitions=partitions)
        sent = [batch for _ in range(2) for batches in on_device(source.steps(1), device) for batch, _ in batches]
        assert {batch.y.device for batch in sent} == {batch.adjacency.rowptr.device for batch in sent} == {device}
        assert {batch.y.device.type for batch in source.batches(1)} == {"cpu"}
        assert len({id(batch) for batch in sent}) == (1 if partitions == 1 else 2 * partitions)


def test_the_next_batches_are_on_their_way_to_a_gpu_before_a_step_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class Computing:
        def wait_stream(self, copies: object) -> None:
            events.append("the GPU waits for the copies")

    class Batch:
        def __init__(self, number: int) -> None:
            self.number = number

        def apply(self, function: object) -> None:
            events.append(f"{self.number} is kept until it is used")

    def moved(batch: Any, device: torch.device) -> Any:
        events.append(f"{batch.number} is copied to {device}")
        return batch

    monkeypatch.setattr(transfer, "_moved", moved)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: None)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Computing())
    steps: Any = (([Batch(number)], f"known of {number}") for number in (1, 2, 3))
    for (batch,), known in prefetched(steps, torch.device("cuda")):
        assert known == f"known of {batch.number}"
        events.append(f"step {batch.number}")
    assert events == [
        "1 is copied to cuda",
        "the GPU waits for the copies",
        "1 is kept until it is used",
        "2 is copied to cuda",
        "step 1",
        "the GPU waits for the copies",
        "2 is kept until it is used",
        "3 is copied to cuda",
        "step 2",
        "the GPU waits for the copies",
        "3 is kept until it is used",
        "step 3",
    ]


def test_a_step_is_waited_for_and_not_what_a_gpu_was_given_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy to the host stands in the queue of the GPU right behind the step, and an event right behind the copy."""
    events: list[str] = []

    class Done:
        def synchronize(self) -> None:
            events.append("the host waits for the copy")

    class Computing:
        def record_event(self) -> Done:
            events.append("an event is queued")
            return Done()

    class Numbers:
        device = torch.device("cuda", 0)

        def detach(self) -> "Numbers":
            return self

        def to(self, device: str, non_blocking: bool) -> torch.Tensor:
            assert (device, non_blocking) == ("cpu", True)
            events.append("a copy is queued")
            return torch.tensor([2.0])

    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Computing())
    numbers: Any = Numbers()
    fetched = Fetched(numbers)
    events.append("the next step is queued")
    assert fetched.read().tolist() == [2.0]
    assert events == [
        "a copy is queued",
        "an event is queued",
        "the next step is queued",
        "the host waits for the copy",
    ]


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
