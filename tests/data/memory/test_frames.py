"""Data frames and arrays as Arrow columns: values, gaps, names, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from rdkit import Chem

from deepergcn.data.memory.frames import arrow_array, frame_table, is_frame, is_values, numbered_columns, value_columns
from deepergcn.errors import InputError


def test_a_frame_keeps_values_gaps_and_the_names_of_its_index() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan], 3: ["x", None], "b": [True, False]}, index=pd.Index([7, 8], name="key"))
    table = frame_table(frame, "it")
    assert table.to_pydict() == {"key": [7, 8], "a": [1.0, None], "3": ["x", None], "b": [True, False]}


def test_an_index_without_a_name_is_a_column_only_under_the_name_that_is_asked_for() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=["u", "v"])
    assert frame_table(frame, "it").column_names == ["a"]
    assert frame_table(frame, "it", index="id").to_pydict() == {"id": ["u", "v"], "a": [1, 2]}
    assert frame_table(frame.assign(id=[5, 6]), "it", index="id").to_pydict() == {"a": [1, 2], "id": [5, 6]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], [1, 2]),
        ([1.5, "x", None], ["1.5", "x", None]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["b", "a", "b"]),
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (pd.Series([pd.NA, "x"], dtype="object"), [None, "x"]),
        (np.array([0.5, np.nan]), [0.5, None]),
        (np.array([0.5], dtype=np.float16), [0.5]),
        (torch.tensor([3, 4]), [3, 4]),
        ([Chem.MolFromSmiles("OCC"), None], ["CCO", None]),
        (pa.chunked_array([["a"], ["b"]]).dictionary_encode(), ["a", "b"]),
    ],
)
def test_a_column_of_any_kind(values: Any, expected: list[Any]) -> None:
    assert arrow_array(values).to_pylist() == expected


def test_arrays_of_several_columns_are_numbered() -> None:
    assert {name: column.to_pylist() for name, column in numbered_columns(torch.eye(2), "x").items()} == {
        "x_0": [1.0, 0.0],
        "x_1": [0.0, 1.0],
    }
    assert list(numbered_columns(np.zeros((3, 1)), "x")) == ["x"]
    assert numbered_columns(torch.eye(2).to_sparse(), "x")["x_1"].to_pylist() == [0.0, 1.0]


def test_values_are_named_by_their_series_and_told_from_names() -> None:
    assert list(value_columns(pd.Series([1, 2], name="y"), "target", 2, "target")) == ["y"]
    assert list(value_columns([1, 2], "target", 2, "target")) == ["target"]
    assert list(value_columns({"a": [1, 2], "b": [3, 4]}, "target", 2, "target")) == ["a", "b"]
    assert [is_values(one) for one in (np.zeros(2), torch.zeros(2), {"a": 1}, [1, "a"])] == [True] * 4
    assert [is_values(one) for one in ("y", ["a", "b"], ())] == [False] * 3


def test_tables_of_other_packages_are_frames() -> None:
    table = pa.table({"a": pa.array(["x", "y"]).dictionary_encode()})
    assert is_frame(table)
    assert frame_table(table, "it").to_pydict() == {"a": ["x", "y"]}
    assert not is_frame(pd.Series([1]))
    assert not is_frame({"a": [1]})


def test_what_is_refused() -> None:
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match="it: two columns are called 'a'"):
        frame_table(twice, "it")
    with pytest.raises(InputError, match="it: is of type dict; expected a data frame"):
        frame_table({"a": [1]}, "it")
    with pytest.raises(InputError, match="target: column 'target' has 2 values; expected 3, one for each row"):
        value_columns([1, 2], "target", 3, "target")
    with pytest.raises(InputError, match=r"x: has shape \[1, 1, 1\]"):
        numbered_columns(np.zeros((1, 1, 1)), "x")
    levels = pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_tuples([(1, 2)]))
    with pytest.raises(InputError, match="there is no column 'id', and the index has 2 levels"):
        frame_table(levels, "it", index="id")
