"""The data that a network was trained on, read again: its own, or the files that its user names."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from deepergcn.data.dataset import Dataset
from deepergcn.data.graphs.read import graphs_digest
from deepergcn.data.provenance import GraphProvenance, LinkProvenance, TableProvenance
from deepergcn.data.registry import SOURCES
from deepergcn.data.storage.digest import file_digest
from deepergcn.data.storage.source_files import check_file
from deepergcn.data.tables.files import table_files, tables_digest
from deepergcn.errors import InputError
from deepergcn.inference.inputs import Edges
from deepergcn.recipes.schema import Recipe, TypedTables
from deepergcn.runs.dataset import load_data, named_files

if TYPE_CHECKING:
    from deepergcn.inference.predictor import Predictor

Files = str | Path | Mapping[str, str | Path] | None
"""A file or folder, tables of nodes by type, or None for the data of the recipe."""


def trained_data(
    model: "Predictor",
    data: Files = None,
    edges: Edges = None,
    nodes: str | Path | None = None,
    node_features: str | Path | None = None,
) -> Dataset:
    """The dataset that the network was trained on.

    Args:
        model: The network.
        data: The location of the dataset; None for that of the recipe, which a model file alone does not read.
        edges: The table of edges, where ``data`` is a table of nodes or of links.
        nodes: The table of nodes, where ``data`` is a table of links.
        node_features: The file of sparse features of the nodes, where training had one.
    """
    recipe = _recipe_of(model, data, edges, nodes)
    if "sparse" in recipe.data.options:
        if node_features is None and not model.own_run:
            raise InputError("--node-features: expected the file of sparse features of the nodes")
        options = recipe.data.options | {"sparse": str(node_features or recipe.data.options["sparse"])}
        recipe = recipe.model_copy(update={"data": recipe.data.model_copy(update={"options": options})})
    dataset = load_data(recipe)
    if model.info.digest and dataset.digest != model.info.digest:  # a converted model does not know its data
        raise InputError(
            f"{named_files(recipe.data)}: is not the training data, or its files have changed since training"
        )
    return dataset


def is_trained_on(
    model: "Predictor", data: str | Path, edges: str | Path | None = None, node_features: str | Path | None = None
) -> bool:
    """Whether this is the file, or these are the tables, that the network was trained on."""
    provenance, digest = model.info.provenance, model.info.digest
    if isinstance(provenance, LinkProvenance):
        return True  # there is nothing else to evaluate, and other files are refused when they are read
    if isinstance(provenance, TableProvenance):
        sparse = node_features or (model.recipe.data.options.get("sparse") if model.own_run else None)
        return tables_digest(*table_files(data, edges), None if sparse is None else Path(sparse)) == digest
    if isinstance(provenance, GraphProvenance):
        return graphs_digest(Path(data)) == digest
    check_file(Path(data))
    return file_digest(Path(data)) == digest


def _recipe_of(model: "Predictor", data: Files, edges: Edges, nodes: str | Path | None) -> Recipe:
    """The recipe with the data that its user has named."""
    recipe, section = model.recipe, model.recipe.data
    if section.tables is not None or isinstance(data, Mapping) or isinstance(edges, Mapping):
        return _recipe_of_types(model, data, edges)
    if data is not None:
        tables = {"nodes": nodes, "edges": edges}
        named = {"source": str(data)} | {name: file and str(file) for name, file in tables.items()}
        return recipe.model_copy(update={"data": section.model_copy(update=named)})
    if not model.own_run and (section.source not in SOURCES or section.edges is not None):
        raise InputError(
            f"{section.source}: is not read for a model file alone, which may come from anyone; expected its run "
            "directory, or the data (deepergcn evaluate --data)"
        )
    return recipe


def _recipe_of_types(model: "Predictor", data: object, edges: object) -> Recipe:
    recipe, section = model.recipe, model.recipe.data
    if section.tables is None:
        raise InputError("tables by type cannot be evaluated: the network was not trained on typed tables")
    if data is None and edges is None and model.own_run:
        return recipe
    if not isinstance(data, Mapping) or not isinstance(edges, Mapping):
        raise InputError("the network was trained on typed tables; expected its tables by type (--nodes, --edges)")
    tables = TypedTables(
        nodes={name: str(path) for name, path in data.items()},
        edges={key if isinstance(key, str) else ",".join(key): str(path) for key, path in edges.items()},
    )
    changes = {"tables": tables, "source": next(iter(tables.nodes.values()), section.source)}
    return recipe.model_copy(update={"data": section.model_copy(update=changes)})
