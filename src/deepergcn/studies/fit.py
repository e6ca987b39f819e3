"""A study on another dataset than the paper's: which recipe it starts from, and what is fitted to the data."""

import json
import math
from pathlib import Path

from deepergcn.data.dataset import Dataset
from deepergcn.data.registry import SOURCES, load_dataset
from deepergcn.data.transforms import apply_transforms
from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe, recipe_names
from deepergcn.recipes.schema import Recipe
from deepergcn.studies.cells import Source
from deepergcn.user_cache import real_path

NODES_IN_STEP = 13_254
"""The number of nodes in one of the ten partitions of ogbn-proteins."""

_GRAPHS_IN_STEP = 32


def fit_source(recipe_name: str, data: str, chosen: bool) -> tuple[Source, tuple[str, ...]]:
    """The dataset to train on, and the adaptations to it, a sentence each.

    Args:
        recipe_name: the study's recipe, or the user's.
        data: a dataset's name or a path.
        chosen: whether the user has chosen the recipe: then it is not exchanged for the dataset's own.
    """
    source = data if data in SOURCES else str(real_path(data))
    own = recipe_name if is_made_for(load_recipe(recipe_name), source) else None
    if own is None and not chosen:
        own = next((name for name in recipe_names() if is_made_for(load_recipe(name), source)), None)
    if own is not None:
        told = (
            () if own == recipe_name else (f"recipe {own}, which is made for this dataset, instead of {recipe_name}",)
        )
        return Source(own, source), told
    settings, fitted = _fitted(load_recipe(recipe_name), source)
    return Source(recipe_name, source, settings), fitted


def is_made_for(recipe: Recipe, source: str) -> bool:
    """Whether a recipe names this dataset, by its name or by that of its folder."""
    return Path(recipe.data.source).name.replace("-", "_") == Path(source).name.replace("-", "_")


def _fitted(recipe: Recipe, source: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if Path(source).is_absolute() and not Path(source).exists():
        raise InputError(
            f"--data {source}: is neither the name of a dataset ({', '.join(SOURCES)}) nor a file or folder"
        )
    dataset, kept, told = load_dataset(source), [], []
    for transform in recipe.data.transforms:
        try:
            dataset = apply_transforms(dataset, [transform])
            kept.append(transform)
        except InputError as error:
            told.append(f"without the transform {_name(transform)} ({error})")
    changes: dict[str, object] = {"data.inputs": None, "data.options": {}, "data.transforms": kept}
    model, training, evaluation = recipe.model, recipe.training, recipe.evaluation
    if model.node_encoder == "species" and "one-hot-species" not in map(_name, kept):
        changes["model.node_encoder"] = "auto"
        told.append("model.node_encoder auto instead of species")
    edges = "none" if dataset.edge_attr is None or model.edge_encoder == "none" else "auto"
    if edges != model.edge_encoder and not (edges == "auto" and dataset.edge_categories is None):
        changes["model.edge_encoder"] = edges
        told.append(f"model.edge_encoder {edges} instead of {model.edge_encoder}")
    graphs = dataset.task.level == "graph"
    for key, before, nodes in (
        ("training.partitions", training.partitions, NODES_IN_STEP),
        ("evaluation.partitions", evaluation.partitions, 2 * NODES_IN_STEP),
    ):
        parts = None if before is None else 1 if graphs else min(before, math.ceil(dataset.num_nodes / nodes))
        if parts != before:
            changes[key] = parts
            told.append(f"{key} {parts} instead of {before} ({dataset.num_nodes:,} nodes)")
    batch = _batch_size(recipe, dataset)
    if batch != training.batch_size:
        changes["training.batch_size"] = batch
        told.append(f"training.batch_size {batch} instead of {training.batch_size}")
    told.append(
        f"{dataset.task.outputs} outputs, {dataset.task.kind}, scored by {dataset.task.metric}, as the dataset has them"
    )
    return tuple(f"{key}={json.dumps(value)}" for key, value in changes.items()), tuple(told)


def _batch_size(recipe: Recipe, dataset: Dataset) -> int:
    """The recipe's, unless it is one of partitions and the dataset has graphs, or the other way round."""
    made_for = None if recipe.data.inputs is None else recipe.data.inputs.task.level
    if made_for is None or made_for == dataset.task.level:
        return recipe.training.batch_size
    return _GRAPHS_IN_STEP if dataset.task.level == "graph" else 1


def _name(transform: str | dict[str, object]) -> str:
    return transform if isinstance(transform, str) else str(transform.get("name"))
