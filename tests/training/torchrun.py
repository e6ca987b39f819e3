"""Training under torchrun: two processes as it starts them, forked from a server that has loaded all they need."""

import multiprocessing
from pathlib import Path

import torch
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from deepergcn.training.train import train
from tests.training.small import FORK_SERVER_LOADS


def torchrun(out: Path, *arguments: str) -> None:
    """Start a run with ``"new"`` and its settings, or go on with it by ``"resume"``."""
    multiprocessing.set_forkserver_preload(FORK_SERVER_LOADS)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=2,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        start_method="forkserver",
        monitor_interval=0.05,
    )
    elastic_launch(config, _one_process)(str(out), *arguments)


def _one_process(out: str, what: str, *settings: str) -> None:
    torch.set_num_threads(1)
    if what == "resume":
        train(out=out, resume=True, epochs=3)
    else:
        train("yeast-proteins", settings=settings, out=out)
