"""How a user's own files were read, as records that are saved with a run to read other files in the same way."""

from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, TypeAdapter

from deepergcn.data.molecules.fragments import Fragments
from deepergcn.data.molecules.skipped import Skipped
from deepergcn.data.tables.features import FeatureColumn
from deepergcn.data.tables.labels import LabelSchema
from deepergcn.data.tables.sparse import SparseFeatures


class _Record(BaseModel):
    # Unknown keys are ignored, so that records of other versions can be read.
    model_config = ConfigDict(frozen=True, extra="ignore")


class MoleculeCounts(_Record):
    """What was found among the molecules of a file.

    Attributes:
        several_fragments: Molecules of several fragments, such as salts.
        repeated: Molecules repeated from an earlier row, by their canonical SMILES.
        conflicting: Molecules with different labels in different rows.
        crossing: Molecules of the valid and the test part that are in the train part too.
        dummies: Molecules with atoms of no element, such as ``*``.
    """

    several_fragments: NonNegativeInt
    repeated: NonNegativeInt
    conflicting: NonNegativeInt
    crossing: NonNegativeInt
    dummies: NonNegativeInt = 0


class EdgeCounts(_Record):
    """What was found in a table of edges.

    Attributes:
        rows: Its rows.
        loops: Rows from a node to itself.
        repeated: Rows repeated from an earlier row (in either direction, if undirected) with the same features.
        parallel: Rows repeated with different features, which are separate edges.
    """

    rows: NonNegativeInt
    loops: NonNegativeInt
    repeated: NonNegativeInt
    parallel: NonNegativeInt = 0


class MoleculeProvenance(_Record):
    """How a file of molecules was read.

    Attributes:
        smiles_column: the column of SMILES; None for an SDF file.
        rows: the number of rows of the file.
        skipped: the rows that could not be read.
        labels: how the labels were read; None where there were none.
        fragments: which fragments of a molecule were kept.
        delimiter: the delimiter of the file, if it was given.
        counts: what was counted in it; None if nothing was.
    """

    reader: Literal["molecules"] = "molecules"
    smiles_column: str | None
    rows: NonNegativeInt
    skipped: tuple[Skipped, ...] = ()
    labels: LabelSchema | None = None
    fragments: Fragments = "all"
    delimiter: str | None = None
    counts: MoleculeCounts | None = None

    def row_numbers(self) -> npt.NDArray[np.int64]:
        """The row of the file, from 1, of each molecule of the dataset."""
        return np.setdiff1d(np.arange(1, self.rows + 1), [skipped.row for skipped in self.skipped])


class TableProvenance(_Record):
    """How a table of nodes and a table of edges were read; the fields are arguments of ``read_tables``.

    Attributes:
        sparse: How sparse features were read, where there were any.
        nodes_digest: The digest of all ids in their order, where the nodes are to stay the same.
    """

    reader: Literal["tables"] = "tables"
    id_column: str
    source_column: str
    target_column: str
    directed: bool
    features: tuple[FeatureColumn, ...]
    edge_features: tuple[FeatureColumn, ...]
    labels: LabelSchema
    delimiter: str | None = None
    counts: EdgeCounts | None = None
    sparse: SparseFeatures | None = None
    nodes_digest: str | None = None


class LinkProvenance(_Record):
    """How a table of links was read, with the tables of nodes and edges if any.

    Attributes:
        id_column, source_column, target_column: the names of the columns.
        directed: whether messages go from source to target only.
        features: of the nodes; None where each has a learned embedding instead.
        edge_features: of the edges that messages pass over.
        labels: there are none: links are labelled 1, and pairs that are no link 0.
        from_edges: whether messages pass over a table of edges; else they pass over the train links.
        repeated: the number of rows that repeat the pair of an earlier row, and count once with it.
        removed: the number of edges that join a valid or a test link, and were removed.
    """

    reader: Literal["links"] = "links"
    id_column: str
    source_column: str
    target_column: str
    directed: bool
    features: tuple[FeatureColumn, ...] | None
    edge_features: tuple[FeatureColumn, ...]
    labels: None = None
    from_edges: bool
    repeated: NonNegativeInt
    removed: NonNegativeInt


class TypedEdgeProvenance(_Record):
    """How the table of one type of edges was read."""

    source: str
    relation: str
    target: str
    features: tuple[FeatureColumn, ...]


class TypedTableProvenance(_Record):
    """How tables of nodes and edges of several types were read; see ``read_typed_tables``.

    Attributes:
        target: The type that is predicted.
        nodes: How the table of every type of nodes was read.
        edges: How the tables of edges were read.
    """

    reader: Literal["typed-tables"] = "typed-tables"
    id_column: str
    source_column: str
    target_column: str
    directed: bool
    delimiter: str | None = None
    target: str
    nodes: dict[str, tuple[FeatureColumn, ...]]
    edges: tuple[TypedEdgeProvenance, ...]
    labels: LabelSchema


class ArrayFeatures(_Record):
    """How an array of features of graphs becomes that of the network.

    Attributes:
        width: The number of columns.
        categories: The number of values of every column, where they are categories.
        mean, deviation: What numbers are standardized by, column by column; nothing where they stay as they are.
    """

    width: NonNegativeInt
    categories: tuple[NonNegativeInt, ...] | None = None
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()


class GraphProvenance(_Record):
    """How a folder of graphs was read; see ``read_graphs``.

    Attributes:
        id_column: the column of names for the graphs.
        labels: how the labels were read.
        nodes, edges: how the features of nodes and edges were read; None if there are none.
    """

    reader: Literal["graphs"] = "graphs"
    id_column: str | None = None
    labels: LabelSchema
    nodes: ArrayFeatures | None
    edges: ArrayFeatures | None


AnyProvenance = MoleculeProvenance | TableProvenance | LinkProvenance | TypedTableProvenance | GraphProvenance
"""The record of any reader."""

Provenance = Annotated[AnyProvenance, Field(discriminator="reader")]
"""Told apart by ``reader``."""


def _none_if_empty(value: Any) -> Any:
    return value or None


OptionalProvenance = Annotated[Provenance | None, BeforeValidator(_none_if_empty)]
"""None for datasets that are not a user's own file; older versions of the package wrote ``{}``."""

ADAPTER: TypeAdapter[AnyProvenance | None] = TypeAdapter(OptionalProvenance)
"""From JSON values to a record, and back."""


def skipped_rows(provenance: AnyProvenance | None) -> tuple[Skipped, ...]:
    """The rows of the file that are not in the dataset."""
    return provenance.skipped if isinstance(provenance, MoleculeProvenance) else ()


def label_schema(provenance: AnyProvenance | None) -> LabelSchema | None:
    """How the labels were read, where the dataset is a user's own file."""
    return None if provenance is None else provenance.labels
