"""The rows that a trained network is to predict, read as those that it was trained on."""

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepergcn.categories import ATOM_SIZES
from deepergcn.data.batching.known_labels import KNOWN_LABELS
from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.graphs.read import LABELS, read_graphs_to_predict
from deepergcn.data.molecules.fragments import Fragments
from deepergcn.data.molecules.read import read_molecules_to_predict
from deepergcn.data.molecules.rows import MoleculeRows, check_molecule_file, open_rows
from deepergcn.data.molecules.skipped import Skipped
from deepergcn.data.provenance import (
    AnyProvenance,
    GraphProvenance,
    MoleculeProvenance,
    TableProvenance,
    TypedTableProvenance,
)
from deepergcn.data.registry import SOURCES
from deepergcn.data.split import all_test
from deepergcn.data.storage.endings import MOLECULE_NAMES, SDF_NAMES, SMI_NAMES
from deepergcn.data.storage.progress import ProgressHook
from deepergcn.data.tables.columns import Columns, read_columns
from deepergcn.data.tables.features import Unseen
from deepergcn.data.tables.files import table_files
from deepergcn.data.tables.labels import LabelSchema, labelled, read_labels
from deepergcn.data.tables.read import read_tables_to_predict
from deepergcn.data.typed.read import read_typed_tables_to_predict
from deepergcn.errors import InputError
from deepergcn.inference.in_memory import graphs_in_memory, rows_in_memory, tables_in_memory
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.dataset import load_data, transformed
from deepergcn.runs.model.network import dataset_inputs
from deepergcn.runs.run import RunInfo

_log = logging.getLogger(__name__)

Input = Any
"""What a network predicts, as a path or in memory.

Molecules: a file, a data frame, a list of SMILES or of molecules of RDKit. A graph: a table of nodes with one of edges,
a folder with both, data frames, ``Data`` of PyTorch Geometric, a graph of networkx. Graphs: a folder, or a list of
``Data``. Tables of nodes by type; pairs of nodes; or any :class:`Dataset`."""
Edges = Any
"""The table of edges that belongs to a table of nodes, as a path or a data frame, or the tables by type."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of an input.

    Attributes:
        dataset: What can be read of them.
        ids: The id of every row.
        positions: int64 [items of the dataset], the row of each, from 0.
        skipped: The rows that cannot be read, with the reason.
        table: The columns of the input, where it is a table.
        smiles: The SMILES of every row, where the input has some.
    """

    dataset: Dataset
    ids: tuple[str, ...]
    positions: Tensor
    skipped: tuple[Skipped, ...] = ()
    table: Columns | None = None
    smiles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """How an input is read, where not as in training.

    Attributes:
        smiles_column, id_column, delimiter, unseen, skipped_file, progress, node_features: As for
            :meth:`deepergcn.inference.predictor.Predictor.predict`.
        known_labels: Whether a network that takes labels as inputs is given those of the input.
    """

    smiles_column: str | None = None
    id_column: str | None = None
    delimiter: str | None = None
    unseen: Unseen = "error"
    skipped_file: str | Path | None = None
    progress: ProgressHook | None = None
    node_features: str | Path | None = None
    known_labels: bool = True


def read_rows_to_predict(
    data: Input,
    edges: Edges,
    recipe: Recipe,
    info: RunInfo,
    how: Reading = Reading(),  # noqa: B008 (it is frozen)
) -> Rows:
    """The rows of an input, read like the training data."""
    task = info.inputs.task.task()
    molecules = task.level == "graph" and info.inputs.nodes == ATOM_SIZES
    if molecules and edges is not None:
        raise InputError("edges: the network was trained on molecules; expected no table of edges")
    if isinstance(data, Dataset):
        rows = _whole(_prepared(data, recipe))
    elif isinstance(data, Mapping) or isinstance(edges, Mapping) or isinstance(info.provenance, TypedTableProvenance):
        rows = _typed_tables(data, edges, recipe, info.provenance, how.unseen)
    elif isinstance(info.provenance, TableProvenance):
        rows = _tables(data, edges, recipe, info.provenance, how)
    elif isinstance(info.provenance, GraphProvenance):
        rows = _graphs(data, recipe, info.provenance)
    elif not isinstance(data, str | Path):
        if not molecules:
            raise InputError("a list of SMILES cannot be predicted: the network was not trained on molecules")
        opened = rows_in_memory(data, how.smiles_column, how.id_column, _smiles_column(info))
        rows = _molecules(opened, recipe, info, how)
        if len(opened.table.names) == 1:  # a list, which the ids repeat
            rows = dataclasses.replace(rows, table=None)
    elif molecules and (Path(data).name.lower().endswith(MOLECULE_NAMES) or Path(data).is_file()):
        check_molecule_file(Path(data))
        smiles_column = how.smiles_column
        if smiles_column is None and not Path(data).name.lower().endswith(SDF_NAMES + SMI_NAMES):
            smiles_column = _smiles_column(info)
        opened = open_rows(Path(data), smiles_column, how.id_column, how.delimiter or _delimiter(info))
        rows = _molecules(opened, recipe, info, how)
    elif molecules and str(data) not in SOURCES and not Path(data).exists():
        raise InputError(
            f"{data}: there is no such file or dataset; expected a name that ends in {', '.join(MOLECULE_NAMES)}, or "
            f"SMILES as a list, [{str(data)!r}]"
        )
    else:
        named = recipe.data.model_copy(update={"source": str(data), "edges": None if edges is None else str(edges)})
        rows = _whole(load_data(recipe.model_copy(update={"data": named})))
    check_features(rows.dataset, info, recipe)
    return rows


def _prepared(dataset: Dataset, recipe: Recipe) -> Dataset:
    return transformed(dataset, recipe)


def _whole(dataset: Dataset) -> Rows:
    count = dataset.num_items
    ids = dataset.ids or tuple(map(str, range(count)))
    return Rows(dataset.replace(split=all_test(count)), ids, torch.arange(count))


def _tables(nodes: Input, edges: Edges, recipe: Recipe, provenance: TableProvenance, how: Reading) -> Rows:
    if isinstance(nodes, str | Path) and (edges is None or isinstance(edges, str | Path)):
        files = table_files(nodes, edges)
        node_table, edge_table = (read_columns(file, how.delimiter or provenance.delimiter) for file in files)
    else:
        node_table, edge_table = tables_in_memory(nodes, edges, provenance)
    dataset = read_tables_to_predict(
        node_table, edge_table, provenance=provenance, unseen=how.unseen, sparse=how.node_features
    )
    if KNOWN_LABELS in recipe.data.transforms or {"name": KNOWN_LABELS} in recipe.data.transforms:
        dataset = _with_labels(dataset, node_table, provenance.labels, how.known_labels)
    return dataclasses.replace(_whole(_prepared(dataset, recipe)), table=node_table)


def _with_labels(dataset: Dataset, table: Columns, schema: LabelSchema, wanted: bool) -> Dataset:
    """The dataset with the labels of its table, which the network takes as inputs; says how many it is given."""
    y, known = dataset.y, torch.empty(0, dtype=torch.int64)
    if wanted and all(name in table.names for name in schema.columns):
        y = read_labels(table, schema)
        known = torch.from_numpy(labelled(y))
    _log.warning(
        "%s: labels are inputs of the network; it uses those of %d of %d nodes",
        *(table.path.name, len(known), dataset.num_nodes),
    )
    return dataset.replace(y=y, split=dict.fromkeys(PARTS, torch.empty(0, dtype=torch.int64)) | {"train": known})


def _graphs(data: Input, recipe: Recipe, provenance: GraphProvenance) -> Rows:
    in_folder = isinstance(data, str | Path)
    table = read_columns(Path(data) / LABELS) if in_folder else None
    graphs = Path(data) if in_folder else graphs_in_memory(data)
    dataset = read_graphs_to_predict(graphs, provenance=provenance, table=table)
    return dataclasses.replace(_whole(_prepared(dataset, recipe)), table=table)


def _typed_tables(
    data: object, edges: object, recipe: Recipe, provenance: AnyProvenance | None, unseen: Unseen
) -> Rows:
    if not isinstance(provenance, TypedTableProvenance):
        raise InputError("tables by type cannot be predicted: the network was not trained on typed tables")
    if not isinstance(data, Mapping) or not isinstance(edges, Mapping):
        types = [f"--nodes {name}=FILE" for name in provenance.nodes]
        types += [f"--edges {e.source},{e.relation},{e.target}=FILE" for e in provenance.edges]
        raise InputError(f"the network was trained on typed tables; expected {' '.join(types)}")
    dataset = read_typed_tables_to_predict(data, edges, provenance=provenance, unseen=unseen)
    return _whole(_prepared(dataset, recipe))


def _molecules(rows: MoleculeRows, recipe: Recipe, info: RunInfo, how: Reading) -> Rows:
    dataset = read_molecules_to_predict(
        rows,
        info.inputs.task.task(),
        label_names=info.label_names,
        fragments=kept_fragments(info),
        descriptors=recipe.descriptors_to_predict,
        skipped_file=how.skipped_file,
        progress=how.progress,
        warn=False,
    )
    assert isinstance(dataset.provenance, MoleculeProvenance)
    skipped, row_numbers = dataset.provenance.skipped, dataset.provenance.row_numbers()
    ids = tuple(name or "" for name in rows.names)
    smiles = tuple(text or "" for text in rows.texts) if rows.form == "smiles" else ()
    return Rows(_prepared(dataset, recipe), ids, torch.from_numpy(row_numbers) - 1, skipped, rows.table, smiles)


def kept_fragments(info: RunInfo) -> Fragments:
    """Which fragments of a molecule were kept in training."""
    known = info.provenance
    return known.fragments if isinstance(known, MoleculeProvenance) else "all"


def _smiles_column(info: RunInfo) -> str | None:
    known = info.provenance
    return known.smiles_column if isinstance(known, MoleculeProvenance) else None


def _delimiter(info: RunInfo) -> str | None:
    known = info.provenance
    return known.delimiter if isinstance(known, MoleculeProvenance) else None


def check_features(dataset: Dataset, info: RunInfo, recipe: Recipe) -> None:
    """An error if a dataset has other features than the network was trained on."""
    if dataset.task.level != info.inputs.task.level:
        raise InputError(
            f"{dataset.name}: has a task on {dataset.task.level}s; the network predicts {info.inputs.task.level}s"
        )
    found = dataset_inputs(dataset)
    if (found.typed is None) != (info.inputs.typed is None):
        has, trained = ("types", "without") if info.inputs.typed is None else ("no types", "with")
        raise InputError(f"{dataset.name}: has {has} of nodes and edges; the network was trained {trained} types")
    if found.typed != info.inputs.typed:
        raise InputError(f"{dataset.name}: has types or widths of features other than those of training")
    for what, ours, theirs in (
        ("node", found.nodes, info.inputs.nodes),
        ("numeric node", found.node_numbers, info.inputs.node_numbers),
        ("edge", found.edges, info.inputs.edges),
    ):
        if ours != theirs:
            raise InputError(f"{dataset.name}: has {what} features {ours}; the network was trained on {theirs}")
    ours, theirs = ((one.fingerprints or 0, one.descriptors or 0) for one in (found, info.inputs))
    if recipe.predicts_from_descriptors and ours != theirs:
        raise InputError(
            f"{dataset.name}: has {sum(ours)} descriptors per graph, from RDKit {version('rdkit')}; the network was "
            f"trained on {sum(theirs)}, from RDKit {info.versions.get('rdkit', 'of an unknown version')}"
        )
