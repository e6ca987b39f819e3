"""Descriptors of the molecules of a folder in OGB's layout."""

from collections.abc import Sequence
from pathlib import Path

from deepergcn.data.dataset import Dataset
from deepergcn.data.storage.cache import cache_file
from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.errors import InputError

_VERSION = 1  # of what is cached
_FILES = ("mapping/mol.csv.gz", "mapping/mol.csv")


def with_descriptors(dataset: Dataset, folder: Path, names: Sequence[str], root: Path) -> Dataset:
    """The dataset with the descriptors of its molecules, whose SMILES stand in the folder in the order of its graphs.

    A molecule that today's RDKit cannot read has counts of 0 and numbers that are unknown.
    """
    from rdkit import rdBase  # here, since most folders in this layout hold no molecules

    from deepergcn.data.molecules.descriptors import molecule_descriptors
    from deepergcn.data.tables.columns import read_columns

    file = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    if file is None:
        raise InputError(f"{folder}: has no {_FILES[0]}; expected the SMILES of its molecules there for descriptors")
    table = read_columns(file)
    table.require(["smiles"], "SMILES")
    if len(table) != len(dataset):
        raise InputError(f"{file}: has {len(table)} rows; expected {len(dataset)}, one for each graph")
    found = molecule_descriptors(
        table.text("smiles").to_pylist(),
        names,
        table=table,
        cache_file=cache_file(root, f"{dataset.name}-descriptors", str(file)),
        key=text_digest(_VERSION, rdBase.rdkitVersion, file_digest(file), list(names)),
    )
    return dataset.replace(**found.fields())
