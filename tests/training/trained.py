"""Run directories of small networks that were never trained, for tests of what comes after training."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from deepergcn.data.dataset import Dataset
from deepergcn.recipes.load import load_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.dataset import load_data
from deepergcn.runs.model.model_file import TrainedModel, save_model
from deepergcn.runs.model.network import build_model, dataset_inputs
from deepergcn.runs.run import FORMAT, Run, RunInfo

SMALL = (
    "model.num_layers=2",
    "model.hidden_channels=8",
    "model.dropout=0.0",
    "model.virtual_node=false",
    "training.batch_size=3",
)

NODE_HEADER, EDGE_HEADER = "id,y,weight,colour", "source,target,strength"


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def molecule_file(folder: Path, kind: str = "classes") -> Path:
    """12 molecules with labels of this kind, some missing."""
    labels = {
        "classes": [("high", "low", "none")[i % 3] for i in range(12)],
        "binary": [("no", "yes")[i % 2] for i in range(12)],
        "numbers": [f"{i * 1.5 - 3}" for i in range(12)],
    }[kind]
    rows = [f"m{i},{'C' * (i + 1)}O,{'' if i == 5 else labels[i]}" for i in range(12)]
    return write_lines(folder / f"{kind}.csv", "name,smiles,target", *rows)


def table_files(folder: Path) -> tuple[Path, Path]:
    """15 nodes of three classes, and edges with a feature."""
    nodes = [f"n{i},{'abc'[i % 3]},{i / 7:.3f},{'red' if i % 2 else 'blue'}" for i in range(15)]
    edges = [f"n{i},n{(i * 4 + 1) % 15},{i / 15:.2f}" for i in range(15)]
    return write_lines(folder / "nodes.csv", NODE_HEADER, *nodes), write_lines(
        folder / "edges.csv", EDGE_HEADER, *edges
    )


def small_recipe(source: Path, edges: Path | None = None, settings: Sequence[str] = (), **options: Any) -> Recipe:
    data = {"source": str(source), "options": options}
    if edges is not None:
        data["edges"] = str(edges)
    return load_recipe("solubility", [*SMALL, f"data={json.dumps(data)}", "model.edge_encoder=auto", *settings])


def make_run(folder: Path, recipe: Recipe, seed: int = 0) -> Path:
    """A run directory with a model of random weights, drawn from the seed, for the data of the recipe."""
    dataset = load_data(recipe)
    info = run_info(dataset)
    torch.manual_seed(seed)
    model = build_model(recipe, info.inputs)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    run = Run.create(folder / "run", recipe, info)
    save_model(run.model_file, TrainedModel(model, recipe, info, epoch=4))
    return run.path


def run_info(dataset: Dataset) -> RunInfo:
    return RunInfo(
        format=FORMAT,
        seed=0,
        versions={},
        parameters=1,
        dataset=dataset.name,
        digest=dataset.digest,
        inputs=dataset_inputs(dataset),
        label_names=dataset.label_names,
        provenance=dataset.provenance,
    )
