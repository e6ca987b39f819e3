"""Transfer of batches to the device of the network: to a GPU one step ahead, while it computes."""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.training.scoring.losses import present_labels
from deepergcn.training.steps import labelled

Counted = tuple[GraphBatch, int]
"""A batch on the device, and the number of its labels, which is counted before it goes there."""


def on_device(steps: Iterable[list[GraphBatch]], device: torch.device) -> Iterator[list[Counted]]:
    """The batches of every step on ``device``.

    Those of a GPU are copied from pinned memory on a stream of their own while it computes the previous step,
    and only the GPU itself waits for them.
    """
    if device.type != "cuda":
        for batches in steps:
            yield [(batch.to(device), count) for batch, count in map(_counted, batches)]
        return
    copies = torch.cuda.Stream(device)
    ahead: list[Counted] | None = None
    for batches in steps:
        with torch.cuda.stream(copies):
            counted = map(_counted, batches)
            moved = [(batch.pin_memory().to(device, non_blocking=True), count) for batch, count in counted]
        if ahead is not None:
            yield ahead
        torch.cuda.current_stream(device).wait_stream(copies)
        for batch, _ in moved:
            batch.apply(lambda tensor: _keep_until_used(tensor, device))
        ahead = moved
    if ahead is not None:
        yield ahead


def _keep_until_used(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor, whose memory is not given to the next copy before the work that reads it has ended."""
    tensor.record_stream(torch.cuda.current_stream(device))
    return tensor


def _counted(batch: GraphBatch) -> Counted:
    """The batch with the numbers of the nodes to learn from: counting them on a GPU would synchronize with it."""
    count = int(present_labels(labelled(batch, batch.y)[1]).sum())
    if "train_mask" in batch:
        batch.train_index = batch.train_mask.nonzero().flatten()
    return batch, count
