"""Data frames and arrays as Arrow columns.

No package for data frames is imported: a frame is known by its Arrow interface, which pandas, polars and pyarrow have.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from rdkit.Chem.rdchem import Mol
from torch import Tensor

from deepergcn.data.molecules.smiles import canonical_smiles
from deepergcn.errors import InputError


def is_frame(data: object) -> bool:
    """Whether this is a table in memory: a data frame of pandas or polars, or a table of Arrow."""
    return hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns")


def frame_table(frame: Any, what: str, index: str | None = None) -> Any:
    """The Arrow table of a data frame; molecules of RDKit in it become SMILES.

    An index of pandas that has a name is a column too. One without is left out.

    Args:
        frame: The frame.
        what: What it is, for errors.
        index: The name under which the index of pandas is a column in any case, unless there is such a column.
    """
    if not is_frame(frame):
        raise InputError(f"{what}: is of type {type(frame).__name__}; expected a data frame")
    if hasattr(frame, "iloc"):
        columns = [*_index_columns(frame, index), *((str(name), frame[name]) for name in frame.columns)]
    else:
        columns = list(zip(*_arrow_columns(frame, what), strict=True))
    names = [name for name, _ in columns]
    if (repeated := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise InputError(f"{what}: two columns are called {repeated!r}")
    return pa.table({name: arrow_array(values) for name, values in columns})


def arrow_array(values: Any) -> Any:
    """One column: numbers stay so, and what Arrow has no type for becomes text; None and NaN are gaps."""
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    if isinstance(values, np.ndarray) and values.ndim == 0:
        values = values[None]
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = pa.array([_text(value) for value in values], pa.string())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_float16(array.type):
        return array.cast(pa.float32())
    return array.cast(pa.string()) if pa.types.is_string_view(array.type) else array


def value_columns(values: Any, name: str, rows: int, what: str) -> dict[str, Any]:
    """The columns of values given in addition to a table: an array [rows] or [rows, columns], or a frame of them.

    Args:
        values: The values; the name of a pandas Series wins over ``name``.
        name: The name of the column, with a number where there are several.
        rows: The number of rows that there have to be.
        what: What the values are, for errors.
    """
    if is_frame(values):
        table = frame_table(values, what)
        found = {column: table.column(column).combine_chunks() for column in table.column_names}
    elif isinstance(values, Mapping):
        found = {str(column): arrow_array(_sequence(cells)) for column, cells in values.items()}
    else:
        said = getattr(values, "name", None)
        found = numbered_columns(values, said if isinstance(said, str) and said else name)
    for column, cells in found.items():
        if len(cells) != rows:
            raise InputError(f"{what}: column {column!r} has {len(cells)} values; expected {rows}, one for each row")
    if not found:
        raise InputError(f"{what}: has no columns; expected at least one")
    return found


def numbered_columns(values: Any, name: str) -> dict[str, Any]:
    """The columns of an array [rows] under ``name``, or [rows, columns] as ``name_0``, ``name_1``, ..."""
    if isinstance(values, Tensor):
        values = (values.to_dense() if values.layout is not _STRIDED else values).detach().cpu().numpy()
    shape = getattr(values, "shape", None)
    if shape is None or len(shape) < 2:
        return {name: arrow_array(_sequence(values))}
    if len(shape) > 2:
        raise InputError(f"{name}: has shape {list(shape)}; expected [rows] or [rows, columns]")
    array = np.asarray(values)
    if array.shape[1] == 1:
        return {name: arrow_array(array[:, 0])}
    return {f"{name}_{number}": arrow_array(column) for number, column in enumerate(array.T)}


def check_order(frame: Any, values: Any, what: str) -> None:
    """Check that values of pandas beside a frame or series of pandas are in its order, where both have the same index.

    Values are matched by their place. One index in another order may mean that they are to be matched by it.
    """
    if not (hasattr(frame, "iloc") and hasattr(values, "iloc")) or len(frame) != len(values):
        return
    index, other = frame.index, values.index
    if index.equals(other):
        return
    if index.is_unique and other.is_unique and index.isin(other).all():
        raise InputError(f"{what}: has the same index as the data in another order; expected {what}.loc[data.index]")


def is_values(data: object) -> bool:
    """Whether these are values by their type, and not names of columns: an array, a tensor, a series, a mapping."""
    if isinstance(data, Tensor | Mapping) or is_frame(data) or hasattr(data, "__array__"):
        return True
    return isinstance(data, Sequence) and not isinstance(data, str) and not all(isinstance(name, str) for name in data)


_STRIDED = Tensor([0.0]).layout


def _sequence(values: Any) -> Any:
    """Values that Arrow takes: an array or series as it is, anything else as a list."""
    return values if isinstance(values, Tensor | np.ndarray) or hasattr(values, "iloc") else list(values)


def _index_columns(frame: Any, index: str | None) -> list[tuple[str, Any]]:
    names = [None if name is None else str(name) for name in frame.index.names]
    known = {str(name) for name in frame.columns}
    if index is not None and index not in (*known, *names):
        if len(names) > 1:
            raise InputError(f"there is no column {index!r}, and the index has {len(names)} levels; expected one")
        names = [index]
    return [
        (name, frame.index.get_level_values(level))
        for level, name in enumerate(names)
        if name is not None and name not in known
    ]


def _arrow_columns(frame: Any, what: str) -> tuple[list[str], list[Any]]:
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{what}: cannot be read as a table: {first}") from error
    return list(table.column_names), list(table.columns)


def _text(value: Any) -> str | None:
    if isinstance(value, Mol):
        return smiles_of(value)
    missing = value is None or value != value or type(value).__name__ == "NAType"
    return None if missing else str(value)


def smiles_of(molecule: Mol) -> str:
    """The SMILES of a molecule of RDKit; one that RDKit cannot write is what it cannot read either."""
    try:
        text = canonical_smiles(molecule)
    except (RuntimeError, ValueError):
        return "?"
    if text is None:
        raise InputError(f"a molecule of RDKit has {molecule.GetNumAtoms()} atoms; expected the SMILES of one so large")
    return text
