"""A teacher: a random forest, whose word about the molecules of the train part the network learns beside their labels.

A forest repeats the labels that it was grown on. So the train part is divided into folds, and what is said about the
molecules of one comes from a forest that was grown on the others. Probabilities are then calibrated on all labels
of the train part, none of which their trees have seen, unless they are to stay as the trees say them.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.seeds import derive, generator
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.recipes.schema import TeacherSection
from deepergcn.runs.model.forest import Forest
from deepergcn.training.forests.fit import fit_forest
from deepergcn.training.scoring.calibrate import fit_calibration
from deepergcn.training.scoring.losses import present_labels
from deepergcn.training.scoring.scores import all_scores


def fit_teacher(
    dataset: Dataset, section: TeacherSection, seed: int, names: Sequence[str] = (), more: Tensor | None = None
) -> Tensor:
    """float32 [items, outputs]: probabilities, or numbers of a regression; NaN where it says nothing.

    A forest says nothing about an output of which it has seen no label.

    Args:
        dataset: molecules with descriptors.
        section: the settings of the teacher.
        seed: of its folds and its forests.
        names: of the descriptors of the dataset.
        more: items outside of the train part, about which the forests of all folds speak, and the mean is taken.
    """
    train, task = dataset.split["train"], dataset.task
    if len(train) < section.folds:
        raise InputError(f"teacher.folds is {section.folds}; expected at most the {len(train)} items of the train part")
    calibrated = section.calibrate and task.kind != "regression"
    more = train[:0] if more is None else more
    said = torch.zeros(dataset.num_items, task.outputs, dtype=torch.float64)
    shares = torch.zeros_like(said)  # of the forests that say something
    order = torch.randperm(len(train), generator=generator(seed, "teacher"))
    for number, fold in enumerate(order.tensor_split(section.folds)):
        others = torch.ones(len(train), dtype=torch.bool)
        others[fold] = False
        seen = train[others]
        forest = fit_forest(dataset, section, derive(seed, "teacher", number), names, items=seen)
        says = forest.log_odds if calibrated else _shares(forest)
        known = present_labels(dataset.y[seen]).any(0).double()
        for items, forests in ((train[fold], 1), (more, section.folds)):
            said[items] += says(dataset, items) / forests * known
            shares[items] += known / forests
    spoken = shares > 0
    said /= shares.where(spoken, 1.0)
    said = _calibrated(dataset, said) if calibrated else said
    return said.where(spoken, torch.nan).float()


def summary(dataset: Dataset, section: TeacherSection, taught: Tensor) -> str:
    """What there is to say about a teacher, with its score on the train part, whose molecules it has not seen."""
    train, metric = dataset.split["train"], dataset.task.metric
    words, labels = taught[train], dataset.y[train]
    silent = words.isnan()
    words = words.nan_to_num(0.0)
    words = words if dataset.task.kind == "regression" else _outputs(dataset.task, words)
    scored = labels.where(~silent, torch.nan) if labels.is_floating_point() else labels.where(~silent.any(1), -1)
    score = all_scores(dataset.task, (metric,), (), words, scored)[metric].score
    found = "no label to score it" if score is None else f"{metric} {score:.3f} on train, each part by the others"
    return f"teacher   {section.folds} forests of {section.trees} trees, {found}"


def _shares(forest: Forest) -> Forest:
    """The forest without the correction of its class weights: the shares of its trees."""
    return replace(forest, class_weight=torch.ones_like(forest.class_weight))


def _calibrated(dataset: Dataset, log_odds: Tensor) -> Tensor:
    """Probabilities, calibrated on the labels of the train part."""
    train = dataset.split["train"]
    calibration = fit_calibration(dataset.task, log_odds[train], dataset.y[train], torch.ones(dataset.task.outputs))
    outputs = log_odds if calibration is None else calibration(log_odds)
    return outputs.softmax(1) if dataset.task.kind == "multi-class" else outputs.sigmoid()


def _outputs(task: Task, probabilities: Tensor) -> Tensor:
    """The outputs of a network with these probabilities, as far as they are finite."""
    return probabilities.clamp(min=1e-9).log() if task.kind == "multi-class" else probabilities.logit(eps=1e-7)
