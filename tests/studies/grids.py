"""A small study, of two networks at two depths on a small network, which trains in seconds."""

from pathlib import Path

from deepergcn.studies.cells import Grid
from deepergcn.studies.reproduce import Plan, make_plan
from deepergcn.studies.schema import StudyDefinition, load_study
from tests.training.small import network

SMALL = (
    "data.inputs=null",
    "model.hidden_channels=4",
    "training.partitions=2",
    "training.epochs=2",
)

YAML = """
name: small
title: two networks
claim: none
recipe: yeast-proteins
layers: [1, 2]
columns:
  - {name: plain, label: plain, set: {model.network: PlainGCN, model.aggr: max}, published: [0.5, null]}
  - {name: res+, label: res+, set: {model.network: ResGCN+, model.aggr: max}, published: [0.6, 0.7]}
charts:
  - {kind: depth, title: depth}
  - {kind: sweep, title: sweep, x_label: x}
  - {kind: compare, title: compare}
  - {kind: dynamics, title: dynamics}
"""


def small_study(folder: Path) -> StudyDefinition:
    """The study, read from its file."""
    file = folder / "small.yaml"
    file.write_text(YAML)
    return load_study(file)


def small_plan(folder: Path, **changes: object) -> Plan:
    """The study on a network of 60 nodes; ``changes`` are arguments of :class:`Grid`."""
    settings = (*SMALL, *changes.pop("settings", ()))  # type: ignore[misc]
    data = folder / "network" if (folder / "network").exists() else network(folder)
    grid = Grid(settings=settings, **changes)  # type: ignore[arg-type]
    return make_plan(small_study(folder), grid, recipe="yeast-proteins", data=str(data), out=folder / "out")
