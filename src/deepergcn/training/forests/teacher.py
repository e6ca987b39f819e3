"""A teacher: a random forest, whose word about the molecules of the train part the network learns beside their labels.

A forest repeats the labels that it was grown on. So the train part is divided into folds, and what is said about the
molecules of one comes from a forest that was grown on the others. Probabilities are then calibrated on all labels
of the train part, none of which their trees have seen, unless they are to stay as the trees say them.
"""

from collections.abc import Callable, Sequence
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
from deepergcn.training.scoring.scores import all_scores


def fit_teacher(
    dataset: Dataset,
    section: TeacherSection,
    seed: int,
    names: Sequence[str] = (),
    check: Callable[[], None] = lambda: None,
    more: Tensor | None = None,
) -> Tensor:
    """float32 [items, outputs]: probabilities, or numbers of a regression; NaN for items that it says nothing about.

    Args:
        dataset: molecules with descriptors.
        section: the settings of the teacher.
        seed: of its folds and its forests.
        names: of the descriptors of the dataset.
        check: is called after every few trees, and may raise.
        more: items outside of the train part, about which the forests of all folds speak, and the mean is taken.
    """
    train, task = dataset.split["train"], dataset.task
    if len(train) < section.folds:
        raise InputError(f"teacher.folds is {section.folds}; expected at most the {len(train)} items of the train part")
    calibrated = section.calibrate and task.kind != "regression"
    more = train[:0] if more is None else more
    said = torch.full((dataset.num_items, task.outputs), torch.nan, dtype=torch.float64)
    said[more] = 0.0
    order = torch.randperm(len(train), generator=generator(seed, "teacher"))
    for number, fold in enumerate(order.tensor_split(section.folds)):
        others = torch.ones(len(train), dtype=torch.bool)
        others[fold] = False
        own_seed = derive(seed, "teacher", number)
        forest = fit_forest(dataset, section, own_seed, names, check, items=train[others])
        says = forest.log_odds if calibrated else _shares(forest)
        said[train[fold]] = says(dataset, train[fold])
        if len(more):
            said[more] += says(dataset, more) / section.folds
    return (_calibrated(dataset, said) if calibrated else said).float()


def summary(dataset: Dataset, section: TeacherSection, taught: Tensor) -> str:
    """What there is to say about a teacher, with its score on the train part, whose molecules it has not seen."""
    train, metric = dataset.split["train"], dataset.task.metric
    words = taught[train] if dataset.task.kind == "regression" else _outputs(dataset.task, taught[train])
    score = all_scores(dataset.task, (metric,), (), words, dataset.y[train])[metric].score
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
