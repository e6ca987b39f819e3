"""The dataset of a recipe, read and transformed."""

from pathlib import Path

from deepergcn.data.dataset import Dataset
from deepergcn.data.registry import SOURCES, load_dataset, load_tables
from deepergcn.data.transforms import apply_transforms
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection


def load_data(section: DataSection) -> Dataset:
    """The dataset that a recipe names, after its transforms."""
    return apply_transforms(_read(section), section.transforms)


def _read(section: DataSection) -> Dataset:
    if section.source not in SOURCES and not Path(section.source).expanduser().exists():
        raise InputError(
            f"{section.source}: is neither a dataset's name ({', '.join(SOURCES)}) nor a file or folder; "
            "--data says which dataset to take"
        )
    if section.edges is None:
        return load_dataset(section.source, **section.options)
    return load_tables(section.source, section.edges, **section.options)
