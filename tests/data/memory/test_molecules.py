"""Molecules in memory as a table."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rdkit import Chem

from deepergcn.data.memory.molecules import is_molecules, molecule_table
from deepergcn.data.molecules.rows import table_rows
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError


def test_texts_molecules_and_gaps_are_a_column_of_smiles() -> None:
    found = molecule_table(["CCO", Chem.MolFromSmiles("OCC"), None], [1, 2, 3])
    assert found.table.to_pydict() == {"smiles": ["CCO", "CCO", None], "target": [1, 2, 3]}
    assert (found.smiles_column, found.targets) == ("smiles", ("target",))


def test_properties_of_molecules_are_columns_that_can_be_targets() -> None:
    molecules = [Chem.MolFromSmiles("C"), Chem.MolFromSmiles("CC")]
    molecules[0].SetProp("_Name", "methane")
    molecules[0].SetDoubleProp("logp", 1.5)
    found = molecule_table(molecules, "logp")
    assert found.table.to_pydict() == {"smiles": ["C", "CC"], "_Name": ["methane", None], "logp": [1.5, None]}
    assert found.targets == ("logp",)


def test_a_frame_names_its_targets_or_has_them_beside() -> None:
    frame = pd.DataFrame({"smiles": ["C", "CC"], "a": [1, 2], "b": [3, 4]})
    assert molecule_table(frame, ["a", "b"]).targets == ("a", "b")
    assert molecule_table(frame, "all").targets == ("all",)
    beside = molecule_table(frame, np.array([[5, 6], [7, 8]]))
    assert beside.targets == ("target_0", "target_1")
    assert beside.table.column("target_1").to_pylist() == [6, 8]
    with pytest.raises(InputError, match="target: the molecules already have a column 'a'"):
        molecule_table(frame, pd.Series([1, 2], name="a"))


def test_a_column_of_molecules_is_found_where_there_are_no_smiles() -> None:
    frame = pd.DataFrame({"ROMol": [None, Chem.MolFromSmiles("CC")], "y": [1, 2]})
    found = molecule_table(frame, "y")
    assert (found.smiles_column, found.table.column("ROMol").to_pylist()) == ("ROMol", [None, "CC"])
    with pytest.raises(InputError, match="a molecule of RDKit has 20000 atoms; expected the SMILES of one so large"):
        molecule_table([Chem.MolFromSmiles("C" * 20_000)], [1])


@pytest.mark.parametrize(
    ("molecules", "problem"),
    [
        ([1, 2], "molecules: row 1 is 1 of type int; expected SMILES as text, or a molecule of RDKit"),
        ([], "molecules: the list is empty"),
        (np.zeros((2, 2)), r"molecules: have shape \[2, 2\]"),
        ({"smiles": ["C"]}, "molecules: are of type dict"),
        ("CCO", "molecules: are of type str"),
    ],
)
def test_what_is_refused(molecules: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        molecule_table(molecules, [1, 2])


def test_columns_of_pandas_may_be_named_by_numbers() -> None:
    found = molecule_table(pd.DataFrame({0: ["C", "CC"], 1: [1, 2]}), 1, 0)
    assert (found.smiles_column, found.targets) == ("0", ("1",))


def test_values_of_the_same_index_in_another_order_are_refused() -> None:
    frame, values = pd.DataFrame({"smiles": ["C", "CC"]}), pd.Series([1, 2], index=[1, 0], name="y")
    with pytest.raises(InputError, match=r"another order; expected target\.loc\[data\.index\]"):
        molecule_table(frame, values)
    assert molecule_table(frame, values.loc[frame.index]).table.column("y").to_pylist() == [2, 1]
    assert molecule_table(frame, values.set_axis([7, 8])).table.column("y").to_pylist() == [1, 2]


def test_what_molecules_are() -> None:
    assert all(map(is_molecules, (["C"], np.array(["C"]), pd.Series(["C"]), pd.DataFrame({"smiles": ["C"]}))))
    assert not is_molecules("C")


def test_a_missing_column_is_asked_for_by_its_argument() -> None:
    table = Columns(Path("molecules"), pa.table({"mol": ["C"], "SMILES": ["C"], "smiles": ["C"]}), in_memory=True)
    with pytest.raises(InputError, match=r"'mol', 'SMILES', 'smiles'; name another with smiles_column$"):
        table_rows(table, "smi", None)
    with pytest.raises(InputError, match=r"; name another with id_column$"):
        table_rows(table, "mol", "name")
    with pytest.raises(InputError, match=r"'SMILES', 'smiles'; expected one such column, or smiles_column$"):
        table_rows(table, None, None)
    on_disk = dataclasses.replace(table, in_memory=False)
    with pytest.raises(InputError, match=r"; name another with --smiles-column$"):
        table_rows(on_disk, "smi", None)
