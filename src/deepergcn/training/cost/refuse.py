"""Before a run: report what it takes, and refuse it if it cannot fit in memory."""

import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.typed.dataset import TypedDataset
from deepergcn.errors import InputError
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.callbacks import Callback
from deepergcn.training.cost.estimate import estimate, is_small


def foresee(recipe: Recipe, dataset: Dataset, processes: int, callback: Callback) -> tuple[int, ...]:
    """The segments of layers that the run recomputes; ``callback.on_plan`` gets the estimated cost.

    A run of a few seconds is not probed. If memory is insufficient, the error says what to change.
    """
    if recipe.training.memory is not None and isinstance(dataset, TypedDataset):
        raise InputError("training.memory: cannot be used with typed tables, whose network does not recompute layers")
    if torch.cuda.is_available():
        if recipe.training.memory is not None:
            raise InputError("training.memory: works on a CPU only; expected model.checkpoint=true on a GPU")
        return ()
    if recipe.training.memory is None and is_small(recipe, dataset):
        return ()
    cost = estimate(recipe, dataset, processes)
    if not cost.fits:
        raise InputError(f"{cost.line()}; it does not fit: expected {cost.advice()}")
    callback.on_plan(cost.line())
    return cost.segments
