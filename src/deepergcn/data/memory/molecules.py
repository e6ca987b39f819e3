"""Molecules in memory as a table: data frames, lists of SMILES, molecules of RDKit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from rdkit.Chem.rdchem import Mol

from deepergcn.data.memory.frames import (
    arrow_array,
    check_order,
    frame_table,
    is_frame,
    is_values,
    smiles_of,
    value_columns,
)
from deepergcn.data.molecules.sdf import TITLE
from deepergcn.errors import InputError, quote

SMILES = "smiles"
"""The column of SMILES of molecules that were no table."""


class MoleculeTable(NamedTuple):
    """Molecules as a table.

    Attributes:
        table: The Arrow table.
        smiles_column: Its column of SMILES; None where it is to be found by its name.
        targets: The columns to learn.
    """

    table: Any
    smiles_column: str | None
    targets: tuple[str, ...] = ()


def is_molecules(data: object) -> bool:
    """Whether these are molecules in memory: a data frame, or a list of SMILES or of molecules of RDKit."""
    if isinstance(data, str | bytes):
        return False
    return is_frame(data) or isinstance(data, Sequence | np.ndarray) or hasattr(data, "iloc")


def molecule_table(molecules: Any, target: Any = None, smiles_column: str | int | None = None) -> MoleculeTable:
    """The table of molecules.

    Args:
        molecules: A data frame with a column of SMILES or of molecules of RDKit, or a list, array or series of SMILES
            or of molecules of RDKit, whose properties become columns.
        target: The columns to learn: names, or values for every molecule, which become columns.
        smiles_column: The column of molecules.
    """
    if is_frame(molecules):
        table = frame_table(molecules, "molecules")
        column = _column_of_molecules(molecules, table) if smiles_column is None else str(smiles_column)
    else:
        table = _listed(molecules)
        column = SMILES if smiles_column is None else str(smiles_column)
    if target is None:
        return MoleculeTable(table, column)
    check_order(molecules, target, "target")
    target = str(target) if isinstance(target, int) else target  # the name of a column of pandas
    named = isinstance(target, str) or (not is_values(target) and is_frame(molecules))
    if named or (not is_values(target) and all(name in table.column_names for name in target)):
        return MoleculeTable(table, column, (target,) if isinstance(target, str) else tuple(target))
    columns = value_columns(target, "target", len(table), "target")
    for name, cells in columns.items():
        if name in table.column_names:
            raise InputError(
                f"target: the molecules already have a column {name!r}; expected that name, or values with another name"
            )
        table = table.append_column(name, cells)
    return MoleculeTable(table, column, tuple(columns))


def _listed(molecules: Any) -> Any:
    if not is_molecules(molecules):
        raise InputError(
            f"molecules: are of type {type(molecules).__name__}; expected a data frame, or a list of SMILES or of "
            "molecules of RDKit"
        )
    array = getattr(molecules, "shape", (len(molecules),))
    if len(array) != 1:
        raise InputError(f"molecules: have shape {list(array)}; expected a list, or a data frame")
    cells = list(molecules)
    if not cells:
        raise InputError("molecules: the list is empty")
    texts: list[str | None] = []
    properties: list[dict[str, Any]] = []
    for row, cell in enumerate(cells, start=1):
        missing = cell is None or (isinstance(cell, float) and cell != cell)
        if not (missing or isinstance(cell, str | Mol)):
            raise InputError(
                f"molecules: row {row} is {quote(cell)} of type {type(cell).__name__}; expected SMILES as text, or a "
                "molecule of RDKit"
            )
        texts.append(None if missing else smiles_of(cell) if isinstance(cell, Mol) else cell)
        properties.append(_properties(cell) if isinstance(cell, Mol) else {})
    names = dict.fromkeys(name for found in properties for name in found)
    columns = {name: arrow_array([found.get(name) for found in properties]) for name in names if name != SMILES}
    return pa.table({SMILES: pa.array(texts, pa.string()), **columns})


def _properties(molecule: Mol) -> dict[str, Any]:
    title = {TITLE: molecule.GetProp(TITLE)} if molecule.HasProp(TITLE) else {}
    return {**title, **molecule.GetPropsAsDict(includePrivate=False, includeComputed=False)}


def _column_of_molecules(frame: Any, table: Any) -> str | None:
    """The one column of molecules of RDKit, where no column is called SMILES."""
    if not hasattr(frame, "iloc") or any(name.strip().lower() == SMILES for name in table.column_names):
        return None
    found = [str(name) for name in frame.columns if _holds_molecules(frame[name])]
    return found[0] if len(found) == 1 else None


def _holds_molecules(column: Any) -> bool:
    first = next((value for value in column if value is not None and value == value), None)
    return isinstance(first, Mol)
