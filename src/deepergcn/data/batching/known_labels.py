"""Labels as inputs: the labels of train nodes inform about the nodes around them.

Evaluation gives a network the labels of all train nodes. A training step hides some of them, and the network learns to
predict these from the others (masked label prediction; Shi et al., *Masked Label Prediction: Unified Message Passing
Model for Semi-Supervised Classification*, 2021), so that it never sees a label that it is asked for.
"""

from copy import copy

import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.dataset import Dataset
from deepergcn.data.storage.memory import check_memory
from deepergcn.errors import InputError

KNOWN_LABELS = "known-labels"
"""The name of the transform."""


def known_labels(dataset: Dataset) -> Dataset:
    """Append the labels of the train nodes to the node features; they are 0 for all other nodes.

    A class has a column that is 1; any other label has one that is 1 or -1, or the number of a regression in standard
    deviations from its mean; both are 0 where a label is missing.
    """
    task = dataset.task
    if task.level != "node":
        raise InputError(f"known-labels: the task of {dataset.name} labels {task.level}s; expected nodes")
    if dataset.x_categories is not None:
        raise InputError(f"known-labels: {dataset.name} has node features that are categories; expected numbers")
    if dataset.label_columns is not None:
        raise InputError("known-labels: the labels are among the features already; expected the transform once")
    check_memory(8 * dataset.num_nodes * task.outputs, f"known-labels: {task.outputs} columns")
    train = dataset.split["train"]
    labels = torch.zeros(dataset.num_nodes, task.outputs)
    labels[train] = _columns(dataset, dataset.y[train])
    start = 0 if dataset.x is None else dataset.x.shape[1]
    x = labels if dataset.x is None else torch.cat((dataset.x, labels), dim=1)
    return dataset.replace(x=x, label_columns=(start, start + task.outputs))


def hide_labels(batch: GraphBatch, columns: tuple[int, int], shown: float, generator: torch.Generator) -> GraphBatch:
    """The batch with the labels of some train nodes alone, the others hidden and left to learn from.

    Args:
        batch: nodes with the features of :func:`known_labels`; it stays as it is.
        columns: the first column of the labels, and the one after the last.
        shown: the probability that a label is shown, and not learned from.
        generator: draws the labels that are shown.
    """
    hidden = batch.train_mask & (torch.rand(len(batch.train_mask), generator=generator) >= shown)
    changed = copy(batch)
    assert changed.x is not None
    changed.x = changed.x.clone()
    changed.x[hidden, columns[0] : columns[1]] = 0.0
    changed.train_mask = hidden
    return changed


def _columns(dataset: Dataset, y: Tensor) -> Tensor:
    """What is shown of these labels, float32 [labels, outputs]."""
    kind, outputs = dataset.task.kind, dataset.task.outputs
    if kind == "multi-class":
        return torch.nn.functional.one_hot(y + 1, outputs + 1)[:, 1:].float()
    if kind != "regression":
        return (2.0 * y - 1.0).nan_to_num(0.0)
    known = ~y.isnan()
    count = known.sum(0).clamp(min=1)
    mean = y.double().nan_to_num(0.0).sum(0) / count
    deviation = (torch.where(known, y.double() - mean, 0.0).square().sum(0) / count).sqrt()
    return ((y - mean) / torch.where(deviation > 0, deviation, 1.0)).nan_to_num(0.0).float()
