"""How many threads a run has work for: on small batches, threads spend most of their time waiting for each other."""

import os

import torch

from deepergcn.data.dataset import Dataset
from deepergcn.recipes.schema import Recipe
from deepergcn.training.cost.sizes import Batch, whole_graph

NUMBERS = 1 << 18
"""The numbers of a layer's nodes and edges in a batch that are worth a thread of their own."""


def choose_threads(
    recipe: Recipe, dataset: Dataset, available: int, processes: int = 1, before: int | None = None
) -> int:
    """The number of threads of each process of a run.

    Args:
        recipe: the recipe.
        dataset: its dataset.
        available: the threads that a process may use; all of them are used if the user has set ``OMP_NUM_THREADS``,
            or if a GPU does the work.
        processes: the number of processes that share each batch.
        before: the number that a resumed run was started with, which it keeps: its last bits depend on it.
    """
    if "OMP_NUM_THREADS" in os.environ or torch.cuda.is_available():
        return available
    if before is not None:
        return min(before, available)
    size = training_batch(recipe, dataset, processes)
    return worthwhile_threads((size.nodes + size.edges) * recipe.model.hidden_channels, available)


def worthwhile_threads(numbers: int, available: int) -> int:
    """One thread for every :data:`NUMBERS` numbers, at least one and at most ``available``."""
    return max(1, min(numbers // NUMBERS, available))


def training_batch(recipe: Recipe, dataset: Dataset, processes: int = 1) -> Batch:
    """The mean size of a training batch of one process."""
    whole, training = whole_graph(dataset), recipe.training
    if dataset.task.level == "graph":
        share = min(training.batch_size, len(dataset)) / (processes * max(len(dataset), 1))
        return Batch(round(whole.nodes * share), round(whole.edges * share))
    if dataset.task.level == "link" or training.partitions == 1:
        return whole
    if training.partitioning == "random":
        return whole.part(training.partitions)
    return Batch(whole.nodes // training.partitions, whole.edges // training.partitions)  # most edges stay inside
