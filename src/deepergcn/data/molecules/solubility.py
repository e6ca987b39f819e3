"""The default dataset: 1,282 molecules with measured aqueous solubility, in ``solubility.csv.gz`` beside this file.

The molecules and their classes are those of the files ``solubility.train.sdf`` and ``solubility.test.sdf`` in RDKit's
documentation, under RDKit's licence (``solubility.LICENSE.txt``). The measurements, in log10 mol/l, were collected by
Huuskonen, J. Chem. Inf. Comput. Sci. 40 (2000) 773-777.
"""

from collections.abc import Sequence
from pathlib import Path

from rdkit import rdBase

from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.descriptors import molecule_descriptors
from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.molecules.read import molecule_dataset
from deepergcn.data.split import column_split
from deepergcn.data.storage.cache import cache_file, cached
from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.data.storage.folders import data_root
from deepergcn.data.tables.columns import read_columns
from deepergcn.data.tables.labels import infer_labels, read_labels, strata

SOLUBILITY_FILE = Path(__file__).with_name("solubility.csv.gz")
"""One molecule per row: name, SMILES, solubility, class, split (train or test), and the mol block.

The graphs are made from the mol blocks, which keep the order of atoms and bonds in RDKit's files; SMILES cannot.
"""

_VERSION = 2
_CLASSES = "class"


def load_solubility(*, seed: int = 0, descriptors: Sequence[str] = (), root: str | Path | None = None) -> Dataset:
    """Load the molecules in three classes of solubility: (A) low, (B) medium and (C) high.

    The test part is given by the data; the valid part is a stratified tenth of the train part, drawn with the seed.

    Args:
        seed: the seed of the valid part.
        descriptors: numbers about every molecule, as for :func:`deepergcn.data.read_molecules`.
        root: the folder of the cache.
    """
    digest = file_digest(SOLUBILITY_FILE)

    def build() -> Dataset:
        table = read_columns(SOLUBILITY_FILE)
        schema = infer_labels(table, [_CLASSES], "multi-class")
        y = read_labels(table, schema)
        return molecule_dataset(
            parse_molecules(table.text("molblock").to_pylist(), form="molblock", strict=True).graphs,
            name="solubility",
            task=schema.task("graph"),
            y=y,
            split=column_split(table.text("split").to_pylist(), classes=strata(y), seed=seed),
            digest=digest,
            label_names=schema.names,
            ids=tuple(table.text("name").to_pylist()),
        )

    key = text_digest(_VERSION, rdBase.rdkitVersion, digest, seed)
    dataset = cached(cache_file(data_root(root), "solubility", seed), key, build)
    if not descriptors:
        return dataset
    table = read_columns(SOLUBILITY_FILE)
    place = cache_file(data_root(root), "solubility-descriptors")
    found = molecule_descriptors(
        table.text("molblock").to_pylist(),
        descriptors,
        form="molblock",
        table=table,
        cache_file=place,
        key=text_digest(_VERSION, rdBase.rdkitVersion, digest, list(descriptors)),
    )
    return dataset.replace(**found.fields())
