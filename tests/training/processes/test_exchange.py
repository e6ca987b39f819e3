"""What processes tell one another through shared memory is what torch.distributed would tell them."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from deepergcn.training.processes import exchange, shared_memory
from tests.training.small import start

Work = Callable[[int], None]
FILES = Path("/dev/shm")


def run_in_processes(work: Work, folder: Path, processes: int = 2) -> list[int | None]:
    """Exit codes of ``work(rank)`` in processes of one group."""
    started = [start(_in_group, work, folder, rank, processes) for rank in range(processes)]
    for process in started:
        process.join(60)
        if process.is_alive():
            process.kill()
            raise AssertionError("a process hangs")
    return [process.exitcode for process in started]


def _in_group(work: Work, folder: Path, rank: int, processes: int) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=processes)
    work(rank)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


class FabricOfGroup(Fabric):
    """A Fabric whose processes are those of the default group."""

    def __init__(self) -> None:
        super().__init__(accelerator="cpu", devices=1)

    @property
    def world_size(self) -> int:
        return torch.distributed.get_world_size()

    @property
    def global_rank(self) -> int:
        return torch.distributed.get_rank()


def _left_files() -> set[str]:
    return {path.name for path in FILES.glob("deepergcn-*")} if FILES.is_dir() else set()


def _tensors(rank: int) -> list[Tensor]:
    torch.manual_seed(rank)
    big = shared_memory.SIZE // 4 + 17
    return [
        torch.randn(3, 5, dtype=torch.float64),
        torch.tensor(float(rank)),
        torch.empty(0),
        torch.randn(2, big)[:, ::2],
        torch.randint(100, (7,)),
        torch.randn(4, 6).bfloat16(),
    ]


def _gather_as_torch_does(rank: int) -> None:
    with exchange.exchange(FabricOfGroup()):
        assert exchange._shared is not None
        for mine in _tensors(rank) * 3:
            told = [torch.empty_like(mine.contiguous()) for _ in range(torch.distributed.get_world_size())]
            torch.distributed.all_gather(told, mine.contiguous())
            assert torch.equal(exchange.gather(mine), torch.stack(told))
    assert exchange._shared is None


def _gradients_as_ddp_has_them(rank: int) -> None:
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(300, 400), nn.ReLU(), nn.Linear(400, 3)) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    plain, ours = (DistributedDataParallel(layer, gradient_as_bucket_view=True) for layer in layers)
    with exchange.exchange(FabricOfGroup()):
        exchange.exchange_gradients(nn.ModuleList([ours]))
        torch.manual_seed(rank + 1)
        x = torch.randn(5, 300)
        for network in (plain, ours):
            network(x).square().sum().backward()
    for theirs, found in zip(plain.parameters(), ours.parameters(), strict=True):
        assert theirs.grad is not None
        assert found.grad is not None
        torch.testing.assert_close(found.grad, theirs.grad, rtol=1e-6, atol=1e-6)
        assert torch.equal(*exchange.gather(found.grad))


def _step_aside(rank: int) -> None:
    shared_memory._FOLDER = Path("/nowhere") if rank == 1 else shared_memory._FOLDER
    assert shared_memory.share(rank, 2) is None
    with exchange.exchange(FabricOfGroup()):
        assert exchange.gather(torch.tensor([rank])).tolist() == [[0], [1]]


def _end_in_the_middle(rank: int) -> None:
    with exchange.exchange(FabricOfGroup()):
        exchange.gather(torch.zeros(3))
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        with pytest.raises(RuntimeError, match=r"^process 1 of training has ended$"):
            exchange.gather(torch.zeros(3))
    os._exit(0)  # the group would wait for the other process


@pytest.mark.skipif(not FILES.is_dir(), reason="there is no memory of files")
@pytest.mark.parametrize("work", [_gather_as_torch_does, _gradients_as_ddp_has_them, _step_aside])
def test_shared_memory_tells_what_torch_tells(work: Work, tmp_path: Path) -> None:
    before = _left_files()
    assert run_in_processes(work, tmp_path) == [0, 0]
    assert _left_files() == before


def test_three_processes(tmp_path: Path) -> None:
    assert run_in_processes(_gather_as_torch_does, tmp_path, 3) == [0, 0, 0]


def test_a_process_that_was_killed_ends_the_wait_of_the_others(tmp_path: Path) -> None:
    assert run_in_processes(_end_in_the_middle, tmp_path) == [0, -signal.SIGKILL]
