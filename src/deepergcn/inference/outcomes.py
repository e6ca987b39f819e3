"""The predictions of a trained network for the test part of its dataset, for a report."""

from functools import partial
from pathlib import Path

import numpy as np
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.graph_smiles import graph_smiles, has_molecules
from deepergcn.inference.links import pair_names
from deepergcn.inference.predictions import probabilities
from deepergcn.inference.predictor import load
from deepergcn.report.outcomes import Outcomes
from deepergcn.runs.model.outputs import two_classes
from deepergcn.training.scoring.evaluation import Evaluation


def find_outcomes(run: Path, part: str = "test") -> Outcomes:
    """Truth and prediction of every item of a part; the data must be the one that the network was trained on."""
    model = load(run)
    dataset = model.dataset()
    items = dataset.split[part]
    outputs = Evaluation(dataset, model.recipe, model.info.seed, [part]).outputs(model.network)[items]
    outputs = model.blended(dataset, outputs, items)
    return Outcomes(
        task=model.task,
        names=model.info.label_names or tuple(map(str, range(model.task.outputs))),
        ids=_names(dataset, items),
        truth=dataset.y[items].numpy().astype(np.float64),
        values=probabilities(model.task, outputs).numpy().astype(np.float64),
        smiles=partial(_smiles, dataset, items) if has_molecules(dataset) else None,
        classes=two_classes(model.info)[0] if model.task.kind == "binary" else ("0", "1"),
    )


def _smiles(dataset: Dataset, items: Tensor, place: int) -> str:
    return graph_smiles(dataset, int(items[place]))


def _names(dataset: Dataset, items: Tensor) -> tuple[str, ...]:
    if dataset.task.level == "link":
        return pair_names(dataset, items)
    return tuple(dataset.ids[item] for item in items.tolist()) if dataset.ids else tuple(map(str, items.tolist()))
