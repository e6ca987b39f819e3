"""Load and transform the dataset of a recipe."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepergcn.data.dataset import Dataset
from deepergcn.data.registry import SOURCES, load_described, load_described_types
from deepergcn.data.transforms import apply_transforms
from deepergcn.data.typed.dataset import TypedDataset
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection, Recipe, TypedTables
from deepergcn.runs.data_report import DataReport
from deepergcn.user_cache import expand, real_path


@dataclass(frozen=True, eq=False)
class LoadedData:
    """A dataset in memory, before any transforms.

    Attributes:
        section: the section of a recipe that names it.
        dataset: the dataset.
        report: what was found in the files, where they are a user's own.
    """

    section: DataSection
    dataset: Dataset
    report: DataReport | None = None


def load_data(recipe: Recipe, loaded: LoadedData | None = None) -> Dataset:
    """Load the dataset of a recipe and transform it; ``loaded`` is used instead of the files if it is the same data."""
    if loaded is not None and _same_files(recipe.data, loaded.section):
        return transformed(loaded.dataset, recipe)
    return transformed(_read(recipe.data), recipe)


def read_data(section: DataSection) -> LoadedData:
    """Read the dataset that a section names once, for several runs."""
    return LoadedData(section, _read(section))


def named_files(section: DataSection) -> str:
    """The files of a section, as they are named in errors."""
    tables = section.tables
    files = (section.nodes, section.source, section.edges)
    named = files if tables is None else (*tables.nodes.values(), *tables.edges.values())
    return " or ".join(file for file in named if file is not None)


def check_found(section: DataSection, run: Path) -> None:
    """Check that the files of a run are where they were, since only its user knows where they have been moved."""
    named = (("data.nodes", section.nodes), ("data.source", section.source), ("data.edges", section.edges))
    files = [(f"add --set {key}=PATH to --resume", file) for key, file in named]
    if section.tables is not None:
        how = "repeat the command with the new --nodes and --edges, and --resume"
        files = [(how, file) for file in (*section.tables.nodes.values(), *section.tables.edges.values())]
    for how, file in files:
        if file is not None and file not in SOURCES and not expand(file).exists():
            raise InputError(f"{file}: does not exist any more, and {run} was started with it; if it was moved, {how}")


def transformed(dataset: Dataset, recipe: Recipe) -> Dataset:
    """Apply the transforms of the recipe, and drop the edge features if its network takes none."""
    dataset = apply_transforms(dataset, recipe.data.transforms)
    if isinstance(dataset, TypedDataset):
        return dataset.without_edge_features() if recipe.model.edge_encoder == "none" else dataset
    if recipe.model.edge_encoder == "none" and dataset.edge_attr is not None:
        return dataset.replace(edge_attr=None, edge_categories=None)
    return dataset


def absolute(section: DataSection) -> DataSection:
    """The section with absolute paths, so that a run can be resumed and evaluated from any folder."""
    changes: dict[str, Any] = {}
    if section.source not in SOURCES or section.tables is not None:
        changes["source"] = _absolute(section.source)
    for name in ("nodes", "edges"):
        if (table := getattr(section, name)) is not None:
            changes[name] = _absolute(table)
    if section.tables is not None:
        nodes, edges = section.tables.nodes, section.tables.edges
        changes["tables"] = TypedTables(
            nodes={name: _absolute(path) for name, path in nodes.items()},
            edges={name: _absolute(path) for name, path in edges.items()},
        )
    return section.model_copy(update=changes)


def _absolute(path: str) -> str:
    return str(real_path(path))


def _same_files(one: DataSection, other: DataSection) -> bool:
    names = ("source", "reader", "nodes", "edges", "tables", "options", "descriptors")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _read(section: DataSection) -> Dataset:
    options = section.options if not section.descriptors else section.options | {"descriptors": section.descriptors}
    if section.tables is not None:
        return load_described_types(section.tables.nodes, section.tables.edges, options)
    if section.source not in SOURCES and not expand(section.source).exists():
        if Path(section.source).suffix:  # the name of a file, and of no dataset
            raise InputError(f"{section.source}: there is no such file; expected the data of the recipe")
        raise InputError(
            f"{section.source}: is neither the name of a dataset ({', '.join(SOURCES)}) nor a file or folder; "
            "name another with --data"
        )
    return load_described(section.source, section.edges, options, nodes=section.nodes, links=section.reader == "links")
