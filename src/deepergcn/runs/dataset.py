"""Load and transform the dataset of a recipe."""

from dataclasses import dataclass

from deepergcn.data.dataset import Dataset
from deepergcn.data.registry import SOURCES, load_described
from deepergcn.data.transforms import apply_transforms
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection, Recipe
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


def transformed(dataset: Dataset, recipe: Recipe) -> Dataset:
    """Apply the transforms of the recipe, and drop the edge features if its network takes none."""
    dataset = apply_transforms(dataset, recipe.data.transforms)
    if recipe.model.edge_encoder == "none" and dataset.edge_attr is not None:
        return dataset.replace(edge_attr=None, edge_categories=None)
    return dataset


def absolute(section: DataSection) -> DataSection:
    """The section with absolute paths, so that a run can be resumed and evaluated from any folder."""
    changes = {}
    if section.source not in SOURCES:
        changes["source"] = str(real_path(section.source))
    for name in ("nodes", "edges"):
        if (table := getattr(section, name)) is not None:
            changes[name] = str(real_path(table))
    return section.model_copy(update=changes)


def _same_files(one: DataSection, other: DataSection) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in ("source", "reader", "nodes", "edges", "options"))


def _read(section: DataSection) -> Dataset:
    if section.source not in SOURCES and not expand(section.source).exists():
        raise InputError(
            f"{section.source}: is neither the name of a dataset ({', '.join(SOURCES)}) nor a file or folder"
        )
    return load_described(
        section.source, section.edges, section.options, nodes=section.nodes, links=section.reader == "links"
    )
