"""How long a run will take, measured on one step and one evaluation."""

import time
from collections.abc import Sequence

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.dataset import load_data
from deepergcn.runs.network import build_model, dataset_inputs
from deepergcn.studies.cells import Cell
from deepergcn.training.evaluation import Evaluation
from deepergcn.training.losses import make_loss
from deepergcn.training.optimizer import make_optimizer
from deepergcn.training.steps import labelled, training_batches


def estimate_seconds(recipe: Recipe, dataset: Dataset) -> float:
    """The seconds that a run of the recipe will take with the threads of this process.

    The second of two steps counts: the first may compile kernels.
    """
    model = build_model(recipe, dataset_inputs(dataset))
    optimizer, loss = make_optimizer(model, recipe.optimizer), make_loss(dataset.task, None)
    source = training_batches(dataset, recipe.training, seed=0)
    model.train()
    for _ in range(2):
        started = time.perf_counter()
        for batch in next(source.steps(1)):
            outputs, targets = labelled(batch, model(batch))
            loss(outputs.float(), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
        step = time.perf_counter() - started
    model.eval()
    started = time.perf_counter()
    evaluation = Evaluation(dataset, recipe, 0, PARTS if dataset.task.level == "node" else PARTS[1:])
    evaluation.scores(evaluation.outputs(model), 1, loss)
    evaluated = time.perf_counter() - started
    epochs = recipe.training.epochs
    return epochs * step * len(source) + epochs / recipe.evaluation.every * evaluated


def estimate_cells(cells: Sequence[Cell]) -> dict[str, float]:
    """The seconds of every cell by its name, with one thread; one seed of each is measured."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    datasets: dict[str, Dataset] = {}
    measured: dict[tuple[str, str], float] = {}
    try:
        for cell in cells:
            key = cell.row.name, cell.column.name
            if key not in measured:
                text = f"{cell.recipe.data.model_dump_json()} {cell.recipe.model.edge_encoder}"
                if text not in datasets:
                    datasets[text] = load_data(cell.recipe)
                measured[key] = estimate_seconds(cell.recipe, datasets[text])
    finally:
        torch.set_num_threads(threads)
    return {cell.name: measured[cell.row.name, cell.column.name] for cell in cells}
