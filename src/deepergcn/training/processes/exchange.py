"""The exchange between the processes of training in every step: statistics, gradients and losses.

On CPUs of one machine it goes through memory that they share, elsewhere through ``torch.distributed``. As with its
process group there is one in a process, open while a run trains. What is gathered is added by every process in the same
way, so that all have the same bits.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.distributed import GradBucket  # type: ignore[attr-defined]  # it is exported by C++
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from deepergcn.training.processes.shared_memory import SIZE, SharedMemory, share

_shared: SharedMemory | None = None


@contextmanager
def exchange(fabric: Fabric) -> Iterator[None]:
    """Let the processes of ``fabric`` share memory, where they can."""
    global _shared
    if fabric.world_size > 1 and fabric.device.type == "cpu":
        _shared = share(fabric.global_rank, fabric.world_size)
    try:
        yield
    finally:
        _shared = None


def gather(mine: Tensor) -> Tensor:
    """The tensors of all processes, [processes, ...], in the order of their ranks; all have the same shape and type."""
    if _shared is None or mine.device.type != "cpu":
        told = [torch.empty_like(mine) for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather(told, mine.contiguous())
        return torch.stack(told)
    sent = _bytes(mine.detach().contiguous())
    parts = [torch.from_numpy(_shared.show(part.numpy())).clone() for part in sent.split(SIZE)]
    received = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
    return received.view(mine.dtype).view(len(received), *mine.shape)


def exchange_gradients(network: nn.Module) -> None:
    """Let the DistributedDataParallel in ``network`` exchange gradients through the shared memory, if it is open."""
    if _shared is None:
        return
    for module in network.modules():
        if isinstance(module, DistributedDataParallel):
            module.register_comm_hook(_shared, _mean_over_processes)


def _mean_over_processes(shared: SharedMemory, bucket: GradBucket) -> Future[Tensor]:
    """The gradients in ``bucket``, averaged in place."""
    gradient: Tensor = bucket.buffer().div_(torch.distributed.get_world_size())
    for part in gradient.split(SIZE // gradient.element_size()):
        shown = torch.from_numpy(shared.show(_bytes(part).numpy())).view(part.dtype)
        torch.sum(shown, dim=0, out=part)
    done: Future[Tensor] = Future()
    done.set_result(gradient)
    return done


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.view(-1).view(torch.uint8)
