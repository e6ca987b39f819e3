"""Devices and precision: what would kill the process is tried in another first."""

import logging
import multiprocessing
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException

from deepergcn.errors import InputError
from deepergcn.training.processes import distributed
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU has bfloat16")
def test_bf16_is_refused_where_it_kills_and_used_where_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = molecule_settings(molecules(tmp_path))
    codes = [-signal.SIGILL]

    def tried(*args: Any, **kwargs: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess(args, codes[0])

    monkeypatch.setattr(subprocess, "run", tried)
    with pytest.raises(InputError, match="--precision bf16: multiplying bfloat16 matrices crashes on this machine"):
        train("solubility", settings=settings, out=tmp_path / "run", precision="bf16")
    assert not (tmp_path / "run").exists()
    codes[0] = 0
    fabric = distributed.make_fabric(1, "bf16")
    with fabric.autocast():
        assert torch.get_autocast_dtype("cpu") == torch.bfloat16
        assert torch.is_autocast_enabled("cpu")


BOTH = "cpu:gloo,cuda:nccl"  # tensors of a GPU by NCCL, numbers of the host by gloo


@pytest.mark.parametrize(
    ("gpus", "torchrun", "expected"),
    [
        (0, {}, ("cpu", 2, 1, "gloo", "spawn")),
        (4, {}, ("cuda", 2, 1, BOTH, "spawn")),
        (4, {"LOCAL_WORLD_SIZE": "4", "GROUP_WORLD_SIZE": "3"}, ("cuda", 4, 3, BOTH, "popen")),
    ],
)
def test_gpus_exchange_by_nccl_and_processors_by_gloo(
    gpus: int, torchrun: dict[str, str], expected: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(distributed, "under_torchrun", lambda: bool(torchrun))
    monkeypatch.setattr(distributed, "Fabric", lambda **options: asked.update(options))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for name, value in torchrun.items():
        monkeypatch.setenv(name, value)
    distributed.make_fabric(2, "32")
    strategy = asked["strategy"]
    found = tuple(asked[name] for name in ("accelerator", "devices", "num_nodes"))
    assert (*found, strategy._process_group_backend, strategy._start_method) == expected
    if gpus:
        with pytest.raises(InputError, match=r"^--devices is 5; this machine has 4$"):
            distributed.make_fabric(5, "32")


def test_an_error_in_another_process_is_told_as_in_this_one() -> None:
    class Raising:
        def launch(self, function: Any, *args: Any) -> None:
            text = "\n-- Process 1 terminated with the following error:\nTraceback ...\n"
            raise ProcessRaisedException(text + f"deepergcn.errors.InputError: {args[-1]}\n", 1, 4)

    with pytest.raises(InputError, match=r"^the disk: is full$"):
        distributed.launch(Raising(), print, "the disk: is full")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^the disk: is full of three lines$"):
        distributed.launch(Raising(), print, "the disk:\n  is full\n\nof three lines")  # type: ignore[arg-type]


def test_a_process_that_was_killed_is_one_line() -> None:
    class Killed:
        def launch(self, function: Any, *args: Any) -> None:
            raise ProcessExitedException("process 1 terminated with signal SIGKILL", 1, 4, -9, "SIGKILL")

    with pytest.raises(InputError, match=r"process 1 terminated with signal SIGKILL\); was there enough memory"):
        distributed.launch(Killed(), print)  # type: ignore[arg-type]


def test_the_log_of_another_process_has_no_control_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Spawned:
        def launch(self, function: Any, *args: Any) -> Any:
            return function(self, *args)

    logger = logging.getLogger("deepergcn")
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(multiprocessing, "parent_process", multiprocessing.current_process)
    distributed.launch(Spawned(), lambda fabric: logger.warning("%s: is damaged", "\x1b[31m.csv"))  # type: ignore[arg-type]
    assert capsys.readouterr().err == "warning: \\x1b[31m.csv: is damaged\n"


def test_threads_are_divided_among_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    with distributed.with_threads(4):
        assert [distributed.threads_of_each(processes) for processes in (1, 2, 3, 8)] == [4, 2, 1, 1]
        monkeypatch.setenv("OMP_NUM_THREADS", "4")
        assert distributed.threads_of_each(2) == 4  # as the user says
    assert torch.get_num_threads() == before
