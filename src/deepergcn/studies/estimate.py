"""How long the cells of a study will take."""

from collections.abc import Sequence

from deepergcn.data.dataset import Dataset
from deepergcn.runs.dataset import load_data
from deepergcn.studies.cells import Cell
from deepergcn.training.cost.estimate import estimate


def estimate_cells(cells: Sequence[Cell]) -> dict[str, float]:
    """The seconds of every cell by its name, with one thread; one seed of each is measured.

    The first is measured twice, since the first time kernels are compiled or loaded too.
    """
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
                if not measured:
                    estimate(cell.recipe, datasets[text])
                measured[key] = estimate(cell.recipe, datasets[text]).run
    finally:
        torch.set_num_threads(threads)
    return {cell.name: measured[cell.row.name, cell.column.name] for cell in cells}
