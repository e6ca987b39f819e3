"""How a user's own files were read, as records that are saved with a run to read other files in the same way."""

from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, TypeAdapter

from deepergcn.data.molecules.skipped import Skipped
from deepergcn.data.tables.features import FeatureColumn
from deepergcn.data.tables.labels import LabelSchema


class _Record(BaseModel):
    # Unknown keys are ignored, so that records of other versions can be read.
    model_config = ConfigDict(frozen=True, extra="ignore")


class MoleculeProvenance(_Record):
    """How a file of molecules was read.

    Attributes:
        smiles_column: the column of SMILES; None for an SDF file.
        rows: the number of rows of the file.
        skipped: the rows that could not be read.
        labels: how the labels were read; None where there were none.
    """

    reader: Literal["molecules"] = "molecules"
    smiles_column: str | None
    rows: NonNegativeInt
    skipped: tuple[Skipped, ...] = ()
    labels: LabelSchema | None = None

    def row_numbers(self) -> npt.NDArray[np.int64]:
        """The row of the file, from 1, of each molecule of the dataset."""
        return np.setdiff1d(np.arange(1, self.rows + 1), [skipped.row for skipped in self.skipped])


class TableProvenance(_Record):
    """How a table of nodes and a table of edges were read; the fields are arguments of ``read_tables``."""

    reader: Literal["tables"] = "tables"
    id_column: str
    source_column: str
    target_column: str
    directed: bool
    features: tuple[FeatureColumn, ...]
    edge_features: tuple[FeatureColumn, ...]
    labels: LabelSchema


Provenance = Annotated[MoleculeProvenance | TableProvenance, Field(discriminator="reader")]
"""Told apart by ``reader``."""


def _none_if_empty(value: Any) -> Any:
    return value or None


OptionalProvenance = Annotated[Provenance | None, BeforeValidator(_none_if_empty)]
"""None for datasets that are not a user's own file; older versions of the package wrote ``{}``."""

ADAPTER: TypeAdapter[MoleculeProvenance | TableProvenance | None] = TypeAdapter(OptionalProvenance)
"""From JSON values to a record, and back."""


def skipped_rows(provenance: MoleculeProvenance | TableProvenance | None) -> tuple[Skipped, ...]:
    """The rows of the file that are not in the dataset."""
    return provenance.skipped if isinstance(provenance, MoleculeProvenance) else ()


def label_schema(provenance: MoleculeProvenance | TableProvenance | None) -> LabelSchema | None:
    """How the labels were read, where the dataset is a user's own file."""
    return None if provenance is None else provenance.labels
