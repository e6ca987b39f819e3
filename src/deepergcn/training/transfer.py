"""Transfer of batches to the device of the network, to a GPU one step ahead, and of its results back to the host."""

from collections.abc import Iterable, Iterator
from copy import copy
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.training.scoring.losses import learned_labels
from deepergcn.training.steps import labelled

Counted = tuple[GraphBatch, int]
"""A batch on the device, and the number of its labels, which is counted before it goes there."""

Known = TypeVar("Known")

_THERE = WeakIdKeyDictionary()
"""The copies of batches on other devices, as long as the batches live: a whole graph is transferred once."""


def on_device(steps: Iterable[list[GraphBatch]], device: torch.device) -> Iterator[list[Counted]]:
    """The batches of every step on ``device``, with the numbers of their labels."""
    counted = ((batches, [_count_labels(batch) for batch in batches]) for batches in steps)
    for batches, counts in prefetched(counted, device):
        yield list(zip(batches, counts, strict=True))


def prefetched(
    steps: Iterable[tuple[list[GraphBatch], Known]], device: torch.device
) -> Iterator[tuple[list[GraphBatch], Known]]:
    """The batches of every step on ``device``, with what the host knows of them; the given batches are not changed.

    Those of a GPU are copied from pinned memory on a stream of their own while it computes the previous step,
    and only the GPU itself waits for them.
    """
    if device.type != "cuda":
        for batches, known in steps:
            yield [_moved(batch, device) for batch in batches], known
        return
    copies = torch.cuda.Stream(device)
    ahead: tuple[list[GraphBatch], Known] | None = None
    for batches, known in steps:
        with torch.cuda.stream(copies):
            moved = [_moved(batch, device) for batch in batches]
        if ahead is not None:
            yield ahead
        torch.cuda.current_stream(device).wait_stream(copies)
        for batch in moved:
            batch.apply(lambda tensor: _keep_until_used(tensor, device))
        ahead = moved, known
    if ahead is not None:
        yield ahead


class Fetched:
    """Numbers that are being copied to the host; ``read`` waits for them.

    A GPU does its work in the order in which it was queued. The copy is queued here, right behind the work that gives
    the numbers, so that ``read`` waits for these two alone, and not for what has been queued since.
    """

    def __init__(self, numbers: Tensor) -> None:
        self._numbers, self._done = numbers.detach(), None
        if numbers.device.type == "cuda":
            self._numbers = self._numbers.to("cpu", non_blocking=True)  # into pinned memory
            self._done = torch.cuda.current_stream(numbers.device).record_event()

    def read(self) -> Tensor:
        if self._done is not None:
            self._done.synchronize()
        return self._numbers.cpu()


def _moved(batch: GraphBatch, device: torch.device) -> GraphBatch:
    """The batch on ``device``; a copy of it, since PyG moves a batch in place."""
    if device.type == "cpu":
        return batch
    there: dict[torch.device, GraphBatch] = _THERE.setdefault(batch, {})
    if device not in there:
        own = copy(batch).pin_memory() if device.type == "cuda" else copy(batch)
        there[device] = own.to(device, non_blocking=True)
    return there[device]


def _keep_until_used(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor, whose memory is not given to the next copy before the work that reads it has ended."""
    tensor.record_stream(torch.cuda.current_stream(device))
    return tensor


def _count_labels(batch: GraphBatch) -> int:
    """The number of labels; the nodes to learn from are numbered too: counting on a GPU would synchronize with it."""
    taught = batch.taught if "taught" in batch else None
    count = int(learned_labels(labelled(batch, batch.y)[1], taught).sum())
    if "train_mask" in batch:
        batch.train_index = batch.train_mask.nonzero().flatten()
    return count
