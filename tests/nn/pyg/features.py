"""The tables of PyG's features: what each does on an accelerated model, and a check of every row.

``python -m tests.nn.pyg.features`` writes docs/pyg-features.md.
"""

import copy
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.testing import assert_close

import deepergcn
from tests.nn.pyg.models import EDGES, features

WORKS = "works"
PYGS_WAY = "works, at PyG's speed"
PYGS_ERROR = "the error that PyG raises"

AREAS = {
    "graphs": "Graphs and batches",
    "layers": "Options of layers and aggregations",
    "models": "Models around the layers",
    "gradients": "Gradients",
    "programs": "Compiling and exporting",
    "precision": "Precision",
    "running": "Modes, devices and processes",
    "saving": "Copying and saving",
}
"""The headings of the page, by area."""


class Feature(NamedTuple):
    area: str
    name: str
    result: str
    check: Callable[[], None]


FEATURES: list[Feature] = []


def feature(area: str, name: str, result: str = WORKS) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """A row of the table, and the function that checks it."""

    def add(check: Callable[[], None]) -> Callable[[], None]:
        FEATURES.append(Feature(area, name, result, check))
        return check

    return add


def pair(**options: Any) -> tuple[Any, Any]:
    """PyG's GENConv in float64, and the same one accelerated."""
    torch.manual_seed(0)
    theirs = pyg.GENConv(8, 8, **{"edge_dim": 3, "norm": "layer", **options}).double()
    return theirs, deepergcn.accelerate(copy.deepcopy(theirs))


def graph(nodes: int = 7, edges: int = 10) -> tuple[Tensor, Tensor, Tensor]:
    if (nodes, edges) == (7, 10):
        return features(8), EDGES, features(3, rows=10)
    generator = torch.Generator().manual_seed(nodes)
    edge_index = torch.randint(0, nodes, (2, edges), generator=generator)
    return features(8, rows=nodes), edge_index, features(3, rows=edges)


def agree(pair: tuple[Any, Any], *arguments: Any, **options: Any) -> None:
    theirs, fast = pair
    assert_close(fast(*arguments, **options), theirs(*arguments, **options))


def gradients(model: nn.Module, loss: Callable[[Any], Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(loss(model), [p for p in model.parameters() if p.requires_grad], allow_unused=True))


def render() -> str:
    lines = [
        "# PyG features",
        "",
        "Does everything that you do with a PyTorch Geometric model still work after `deepergcn.accelerate(model)`?",
        f"This page lists the {len(FEATURES)} features that were tried. Each is a test that compares the accelerated",
        "model with PyG's own (`tests/nn/pyg`).",
        "",
        "| result | meaning |",
        "|---|---|",
        f"| {WORKS} | the same results as before, by the fast path where layers are computed |",
        f"| {PYGS_WAY} | the same results as before: the fast path steps aside for PyG's own code |",
        f"| {PYGS_ERROR} | a wrong input is refused as it was before |",
        "",
        "`print(deepergcn.accelerated(model))` lists which layers of your model were changed and which were left to",
        "PyG, with the reason. [A PyG model, accelerated](tutorials/pyg.md) shows how to use it.",
    ]
    for area, heading in AREAS.items():
        rows = [f"| {row.name} | {row.result} |" for row in FEATURES if row.area == area]
        lines += ["", f"## {heading}", "", "| feature | on an accelerated model |", "|---|---|", *rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    from tests.nn.pyg import features as module
    from tests.nn.pyg import features_of_layers, features_of_torch  # noqa: F401

    sys.stdout.write(module.render())
