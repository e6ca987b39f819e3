"""The dataset of a recipe, read and transformed."""

from dataclasses import dataclass

from deepergcn.data.dataset import Dataset
from deepergcn.data.registry import SOURCES, load_dataset, load_tables
from deepergcn.data.transforms import apply_transforms
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection
from deepergcn.user_cache import expand


@dataclass(frozen=True, eq=False)
class LoadedData:
    """A dataset that has been read already, before any transforms, and the section of a recipe that names it."""

    section: DataSection
    dataset: Dataset


def load_data(section: DataSection, loaded: LoadedData | None = None) -> Dataset:
    """The dataset that a recipe names, after its transforms; ``loaded`` is used where the recipe names the same."""
    known = loaded is not None and _same_files(section, loaded.section)
    dataset = loaded.dataset if loaded is not None and known else _read(section)
    return apply_transforms(dataset, section.transforms)


def absolute(section: DataSection) -> DataSection:
    """The section with absolute paths, so that a run can be resumed and evaluated from any folder."""
    changes = {}
    if section.source not in SOURCES:
        changes["source"] = str(expand(section.source).resolve())
    if section.edges is not None:
        changes["edges"] = str(expand(section.edges).resolve())
    return section.model_copy(update=changes)


def _same_files(one: DataSection, other: DataSection) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in ("source", "edges", "options"))


def _read(section: DataSection) -> Dataset:
    if section.source not in SOURCES and not expand(section.source).exists():
        raise InputError(
            f"{section.source}: is neither a dataset's name ({', '.join(SOURCES)}) nor a file or folder; "
            "--data says which dataset to take"
        )
    if section.edges is None:
        return load_dataset(section.source, **section.options)
    return load_tables(section.source, section.edges, **section.options)
