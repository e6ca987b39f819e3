"""Fit a random forest beside a trained network, on the same descriptors, and choose its weight by validation."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.runs.model.blend import Averages, Blend, forest_words, mixed
from deepergcn.runs.model.calibration import Calibration
from deepergcn.runs.model.model_file import load_model, save_model
from deepergcn.runs.model.outputs import output_names
from deepergcn.runs.run import BlendSummary, Run, Summary
from deepergcn.training.forests.fit import calibrated, fit_forest
from deepergcn.training.processes.distributed import with_threads
from deepergcn.training.scoring.evaluation import Evaluation
from deepergcn.training.scoring.losses import balanced_weight, make_loss, present_labels
from deepergcn.training.scoring.scores import all_scores

WEIGHTS = tuple(step / 20 for step in range(21))
"""The weights of the forest among which validation chooses."""

_PARTS = ("valid", "test")
_GROUPS = 50  # of items, whose losses give the standard error


def fit_blend(
    run: Run,
    dataset: Dataset,
    summary: Summary,
    check: Callable[[], None] = lambda: None,
    threads: int | None = None,
) -> Summary:
    """Add the forest to the model file of a run that has been trained; its summary with the scores of both together.

    A forest of weight 0 is left out, so that predictions are those of the network and take no longer. ``check`` is
    called between trees and may raise, as where the run is to stop; nothing has been written then. Trees are grown on
    this number of threads, those of torch if None; the forest does not depend on it.
    """
    section = run.recipe.blend
    if section is None:
        return summary
    trained = replace(load_model(run.model_file), blend=None)
    evaluation = Evaluation(dataset, run.recipe, run.info.seed, _PARTS)
    outputs = evaluation.outputs(trained.model)
    with with_threads(threads):
        forest = fit_forest(dataset, section, run.info.seed, run.recipe.data.descriptors, check)
    forest = calibrated(forest, dataset)
    items = torch.cat([dataset.split[part] for part in _PARTS])
    values = torch.full(outputs.shape, torch.nan, dtype=torch.float64)
    values[items] = forest_words(forest, dataset.task, dataset, items, section.averages)
    valid = dataset.split["valid"]
    weight = choose_weight(dataset, outputs[valid], values[valid], valid, trained.calibration, section.averages)
    found = {"network": 0.0, "forest": 1.0, "blend": weight}

    def score(weight: float, part: str) -> float | None:
        together = mixed(dataset.task, outputs, values, weight, trained.calibration, section.averages)
        return _score(run, dataset, evaluation, together, part)

    scores = {(name, part): score(weight, part) for name, weight in found.items() for part in _PARTS}
    save_model(run.model_file, replace(trained, blend=Blend(forest, weight, section.averages) if weight else None))
    return summary.model_copy(
        update={
            "valid_score": scores["blend", "valid"],
            "test_score": scores["blend", "test"],
            "blend": BlendSummary(
                weight=weight,
                trees=forest.trees,
                network_valid=scores["network", "valid"],
                network_test=scores["network", "test"],
                forest_valid=scores["forest", "valid"],
                forest_test=scores["forest", "test"],
            ),
        }
    )


def choose_weight(
    dataset: Dataset,
    outputs: Tensor,
    forest: Tensor,
    items: Tensor,
    calibration: Calibration | None,
    averages: Averages = "probabilities",
) -> float:
    """The weight of the forest by the loss of the task on these items; 0.5 where they have no label.

    Few items can hardly tell weights apart, and the network's epoch was chosen on the same ones. So of all weights
    whose loss exceeds the least by at most one standard error, it is the one nearest to 0.5 (the rule of Breiman et
    al., *Classification and Regression Trees*, 1984).
    """
    task, targets = dataset.task, dataset.y[items]
    if not bool(present_labels(targets).any()):
        return 0.5
    train = dataset.y[dataset.split["train"]]
    loss = make_loss(task, balanced_weight(task, train) if task.kind == "regression" else None)
    groups = torch.arange(len(items)).tensor_split(min(len(items), _GROUPS))
    losses = np.full((len(WEIGHTS), len(groups)), np.nan)
    for row, weight in enumerate(WEIGHTS):
        together = mixed(task, outputs, forest, weight, calibration, averages)
        together = together if calibration is None else calibration(together)
        losses[row] = [float(loss(together[group], targets[group])) for group in groups]
    finite = np.isfinite(losses).all(axis=1)
    if not finite.any():
        return 0.5
    more = losses - losses[np.where(finite, losses.mean(axis=1), np.inf).argmin()]
    error = more.std(axis=1, ddof=1) / np.sqrt(len(groups)) if len(groups) > 1 else 0.0
    allowed = [weight for weight, good in zip(WEIGHTS, finite & (more.mean(axis=1) <= error), strict=True) if good]
    return min(allowed, key=lambda weight: abs(weight - 0.5))


def _score(run: Run, dataset: Dataset, evaluation: Evaluation, outputs: Tensor, part: str) -> float | None:
    items, metric = dataset.split[part], dataset.task.metric
    names = output_names(run.info)
    return all_scores(dataset.task, (metric,), names, outputs[items], dataset.y[items], evaluation.scale)[metric].score
