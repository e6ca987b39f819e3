"""Data in a user's memory, in the form that the readers for prediction take."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from torch_geometric.data import Data

from deepergcn.data.graphs.arrays import GraphArrays, pyg_arrays
from deepergcn.data.memory.graph import Names, graph_tables
from deepergcn.data.memory.molecules import molecule_table
from deepergcn.data.molecules.rows import MoleculeRows, table_rows
from deepergcn.data.provenance import TableProvenance
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError


def rows_in_memory(
    molecules: Any, smiles_column: str | None, id_column: str | None, trained: str | None
) -> MoleculeRows:
    """The rows of a data frame, or of a list of SMILES or of molecules of RDKit.

    Args:
        molecules: The molecules.
        smiles_column: The column of SMILES; that of training or the one called "smiles" if None.
        id_column: The column of names.
        trained: The column of SMILES in training.
    """
    found = molecule_table(molecules, smiles_column=smiles_column)
    column = found.smiles_column or (trained if trained in found.table.column_names else None)
    return table_rows(Columns(Path("molecules"), found.table, in_memory=True), column, id_column)


def tables_in_memory(nodes: Any, edges: Any, provenance: TableProvenance) -> tuple[Columns, Columns]:
    """The tables of nodes and edges of a graph, under the names that they had in training."""
    if isinstance(nodes, list) and all(isinstance(node, str) for node in nodes):
        raise InputError("a list of SMILES cannot be predicted: the network was not trained on molecules")
    names = Names(provenance.id_column, provenance.source_column, provenance.target_column)
    tables = graph_tables(nodes if edges is None else (nodes, edges), (), names)
    its_edges = tables.edges
    if provenance.directed and tables.directed is False:  # each edge is there once: training knows it by both ways
        ends = [its_edges.column_names.index(name) for name in (names.source, names.target)]
        loops = pc.equal(its_edges.column(ends[0]), its_edges.column(ends[1]))
        back = its_edges.filter(pc.invert(loops))
        turned = list(back.columns)
        turned[ends[0]], turned[ends[1]] = turned[ends[1]], turned[ends[0]]
        its_edges = pa.concat_tables([its_edges, pa.table(turned, names=its_edges.column_names)])
    return Columns(Path("nodes"), tables.nodes, in_memory=True), Columns(Path("edges"), its_edges, in_memory=True)


def graphs_in_memory(graphs: Any) -> GraphArrays:
    """The arrays of a list or dataset of PyTorch Geometric's graphs, or of one alone."""
    if isinstance(graphs, Data):
        return pyg_arrays([graphs])
    if not (hasattr(graphs, "__len__") and hasattr(graphs, "__getitem__")):
        raise InputError(f"graphs: are of type {type(graphs).__name__}; expected a list of Data of PyTorch Geometric")
    return pyg_arrays(graphs)
