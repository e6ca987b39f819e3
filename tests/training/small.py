"""Small things to train on, for the tests of the loop and of all that can stop it."""

import csv
import multiprocessing
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from deepergcn.data.dataset import Dataset
from deepergcn.data.ogb.layout_writer import write_layout
from deepergcn.data.task import Task
from deepergcn.runs.model.model_file import load_model
from deepergcn.runs.run import Run
from deepergcn.training.train import train

FORK_SERVER_LOADS = ["tests.training.warm"]
"""What the server has loaded that processes of tests are forked from."""

NOT_REPEATABLE = {"seconds", "peak_memory_mb"}
"""Columns of ``metrics.csv`` that are not the same when a run is done again."""


def molecules(folder: Path, count: int = 40) -> Path:
    """A file of molecules in two classes: with and without oxygen."""
    rng = np.random.default_rng(0)
    path = folder / "molecules.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("smiles", "active", "split"))
        for i in range(count):
            smiles = "C" * int(rng.integers(1, 7)) + ("O" if i % 2 else "N") + "C" * int(rng.integers(0, 4))
            writer.writerow((smiles, "" if i == 3 else i % 2, ("train", "train", "valid", "test")[i // 2 % 4]))
    return path


def molecule_settings(path: Path, *settings: str) -> list[str]:
    """The settings that make the default recipe a small one on these molecules, with dropout and shuffling."""
    options = '{"targets": ["active"], "split_column": "split"}'
    return [
        f'data={{"source": "{path}", "options": {options}}}',
        "model.num_layers=3",
        "model.hidden_channels=8",
        "model.dropout=0.3",
        "model.virtual_node=false",
        "optimizer={name: adam, lr: 0.001}",
        "training.batch_size=6",
        "training.epochs=4",
        *settings,
    ]


def trained_run(folder: Path, *settings: str) -> Path:
    """The run in a folder that small molecules were trained in, with its own cache: for all tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPERGCN_DATA", str(folder / "data"))
        return train(settings=molecule_settings(molecules(folder), *settings), out=folder / "run").path


def network(folder: Path, nodes: int = 60) -> Path:
    """A folder with one graph in OGB's layout: real edge features, several labels, some of them missing."""
    draw = torch.Generator().manual_seed(0)
    edge_index = torch.randint(nodes, (2, 4 * nodes), generator=draw)
    edge_index = edge_index[:, edge_index[0] < edge_index[1]].unique(dim=1)
    edges = edge_index.shape[1]
    edge_attr = torch.rand(edges, 3, generator=draw)
    y = (torch.rand(nodes, 4, generator=draw) < 0.4).float()
    y[5, 1] = torch.nan
    order = torch.randperm(nodes, generator=draw)
    dataset = Dataset(
        name="network",
        task=Task("node", "multi-label", 4, "rocauc"),
        node_ptr=torch.tensor([0, nodes]),
        edge_ptr=torch.tensor([0, edges]),
        edge_index=edge_index.int(),
        symmetric=True,
        edge_attr=edge_attr,
        y=y,
        split={
            "train": order[: nodes // 2],
            "valid": order[nodes // 2 : 3 * nodes // 4],
            "test": order[3 * nodes // 4 :],
        },
        digest="made here",
    )
    path = folder / "network"
    write_layout(dataset, path)
    return path


def network_settings(path: Path, *settings: str) -> list[str]:
    """The settings that make the recipe of the yeast proteins a small one on this network, in partitions."""
    return [
        f"data.source={path}",
        "data.inputs=null",
        "model.num_layers=3",
        "model.hidden_channels=8",
        "model.dropout=0.3",
        "training.partitions=4",
        "training.epochs=4",
        "evaluation.every=1",
        "evaluation.partitions=2",
        "evaluation.draws=2",
        *settings,
    ]


def repeatable(run: Run) -> dict[str, Any]:
    """All of a run that must be the same when it is done again: weights bit for bit, scores and dynamics."""
    with (run.path / "metrics.csv").open() as table:
        rows = [{k: v for k, v in row.items() if k not in NOT_REPEATABLE} for row in csv.DictReader(table)]
    summary = run.summary()
    assert summary is not None
    with safe_open(run.model_file, framework="pt") as file:
        weights = {name: file.get_tensor(name).numpy().tobytes() for name in file.keys()}  # noqa: SIM118
    return {
        "weights": weights,
        "epoch": load_model(run.model_file).epoch,
        "metrics": rows,
        "dynamics": (run.path / "dynamics.csv").read_bytes(),
        "summary": summary.model_dump(exclude={"seconds"}),
    }


def start(function: Callable[..., None], *args: object) -> BaseProcess:
    """Run a function in a process of its own, which starts at once, since a server has loaded all it needs."""
    process = _server().Process(target=function, args=args)
    process.start()
    return process


def in_forked_processes(
    function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], jobs: int, *, large: bool
) -> Generator[Any]:
    """As ``in_processes`` for large calls, in processes of this server: others load the package for seconds."""
    assert large
    with ProcessPoolExecutor(jobs, _server()) as pool:
        for done in as_completed([pool.submit(function, *given) for given in arguments]):
            yield done.result()


def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(FORK_SERVER_LOADS)
    return context
