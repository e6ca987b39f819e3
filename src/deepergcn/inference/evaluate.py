"""The scores of a trained network on the parts of its dataset, or on other rows that have labels."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.tables.labels import LabelSchema, labelled, read_labels
from deepergcn.data.task import Metric
from deepergcn.errors import InputError
from deepergcn.inference.inputs import Rows
from deepergcn.runs.model.network import Rescale
from deepergcn.runs.model.outputs import output_names
from deepergcn.runs.run import MetricScore
from deepergcn.training.scoring.evaluation import Evaluation
from deepergcn.training.scoring.scores import all_scores

if TYPE_CHECKING:
    from deepergcn.inference.predictor import Predictor

_log = logging.getLogger(__name__)


def evaluate_parts(
    model: "Predictor", dataset: Dataset, parts: Sequence[str], metrics: Sequence[Metric] = ()
) -> dict[str, dict[str, MetricScore]]:
    """The scores of each part of the dataset by these metrics; by those of the recipe if none is named."""
    if dataset.label_columns is not None and "train" in parts:
        _log.warning(
            "%s: labels of train are inputs of the network, so its score on train is meaningless", dataset.name
        )
    evaluation = Evaluation(dataset, model.recipe, model.info.seed, parts)
    outputs = evaluation.outputs(model.network)
    seen = torch.cat([evaluation.items(part) for part in parts]) if parts else torch.empty(0, dtype=torch.int64)
    outputs[seen] = model.blended(dataset, outputs[seen], seen)
    return {part: _scores(model, metrics, outputs, dataset.y, evaluation.items(part)) for part in parts}


def evaluate_rows(
    model: "Predictor", rows: Rows, schema: LabelSchema, metrics: Sequence[Metric] = ()
) -> tuple[int, dict[str, MetricScore]]:
    """The number of rows that have a label, and the scores on them."""
    if rows.table is None:
        raise InputError("the data to evaluate is not a table; expected a table with a column of labels")
    y = read_labels(rows.table.take(rows.positions.numpy()), schema)
    items = torch.from_numpy(labelled(y))
    if not len(items):
        raise InputError(
            f"{rows.table.path}: no row has a label in {', '.join(map(repr, schema.columns))}; expected at least one"
        )
    return len(items), _scores(model, metrics, model.outputs(rows.dataset), y, items)


def _scores(
    model: "Predictor", metrics: Sequence[Metric], outputs: Tensor, y: Tensor, items: Tensor
) -> dict[str, MetricScore]:
    chosen = metrics or model.recipe.evaluation.metrics or (model.task.metric,)
    scale = None
    if model.recipe.evaluation.scaled:
        scale = next(m.deviation for m in model.network.modules() if isinstance(m, Rescale))
    return all_scores(model.task, chosen, output_names(model.info), outputs[items], y[items], scale)
