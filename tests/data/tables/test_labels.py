"""The kind of a task follows from its label columns, and labels become what a dataset holds."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepergcn.data.tables.columns import Columns
from deepergcn.data.tables.kinds import MOST_CLASSES, column_kind
from deepergcn.data.tables.labels import (
    LabelSchema,
    infer_labels,
    labelled,
    missing_labels,
    read_labels,
    strata,
)
from deepergcn.data.task import Kind, Task
from deepergcn.errors import InputError

NAN = float("nan")


def table(**cells: list[str]) -> Columns:
    return Columns(Path("t.csv"), pa.table({name: pa.array(column) for name, column in cells.items()}))


@pytest.mark.parametrize(
    ("cells", "kind", "classes"),
    [
        (["0", "1", "", "0"], "binary", ("0", "1")),
        (["active", "inactive", ""], "binary", ("inactive", "active")),
        (["Toxic", "safe", ""], "binary", ("safe", "Toxic")),
        (["permeable", "non-permeable"], "binary", ("non-permeable", "permeable")),
        (["yes", "unknown"], "binary", ("unknown", "yes")),
        (["red", "green"], "binary", ("green", "red")),
        (["no", "yes", "", "no"], "binary", ("no", "yes")),
        (["True", "False", "None", "True"], "binary", ("False", "True")),
        (["b", "a", "c", "NaN"], "multi-class", ("a", "b", "c")),
    ],
)
def test_kind_of_one_column(cells: list[str], kind: Kind, classes: tuple[str, ...]) -> None:
    schema = infer_labels(table(y=cells), ["y"])
    assert schema == LabelSchema(("y",), kind, (classes,))
    assert schema.names == (classes if kind == "multi-class" else ("y",))


def test_numbers_are_a_regression() -> None:
    assert infer_labels(table(y=["0.5", "1", "2"]), ["y"]).kind == "regression"
    for whole in (["0", "1", "2"], ["1", "2"], [str(i) for i in range(MOST_CLASSES + 1)]):
        assert infer_labels(table(y=whole), ["y"]).kind == "regression"
    assert column_kind(table(y=["3", "1", "2"]), "y") == (
        "regression",
        "whole numbers from 1 to 3; --task multi-class treats them as classes",
    )
    assert infer_labels(table(y=["10", "9", "2", ""]), ["y"], "multi-class").classes == (("2", "9", "10"),)
    assert infer_labels(table(y=["1.0", "-1.0", "NA"]), ["y"], "binary").classes == (("-1", "1"),)
    assert infer_labels(table(y=["0", "1", "2"]), ["y"], "regression").kind == "regression"


def test_several_columns() -> None:
    two = table(a=["0", "1", ""], b=["x", "y", "x"])
    schema = infer_labels(two, ["a", "b"])
    assert schema == LabelSchema(("a", "b"), "multi-label", (("0", "1"), ("x", "y")))
    assert schema.task("graph") == Task("graph", "multi-label", 2, "rocauc")
    torch.testing.assert_close(
        read_labels(two, schema), torch.tensor([[0.0, 0.0], [1.0, 1.0], [NAN, 0.0]]), equal_nan=True
    )
    assert infer_labels(table(a=["0", "1", "2"], b=["1.5", "2", ""]), "ab").kind == "regression"
    said = infer_labels(table(a=["0", "0"], b=["0", "1"]), "ab", "multi-label")
    assert said.classes == (("0", "1"), ("0", "1"))
    said = infer_labels(two, ["a", "b"], positive=["0", "x"])
    assert said.classes == (("1", "0"), ("y", "x"))
    assert infer_labels(table(a=["no", "yes"], b=["yes", "no"]), "ab", positive="no").classes == (("yes", "no"),) * 2


def test_values_that_stand_for_missing_labels() -> None:
    cells = table(y=["-1", "0", "1", "-1.0", "?"])
    schema = infer_labels(cells, ["y"], missing=["-1", "?"])
    assert schema == LabelSchema(("y",), "binary", (("0", "1"),), ("-1", "?"))
    expected = torch.tensor([[NAN], [0.0], [1.0], [NAN], [NAN]])
    torch.testing.assert_close(read_labels(cells, schema), expected, equal_nan=True)
    numbers = table(y=["-999", "0.5", "1.5"])
    found = read_labels(numbers, infer_labels(numbers, ["y"], missing="-999"))
    torch.testing.assert_close(found, torch.tensor([[NAN], [0.5], [1.5]]), equal_nan=True)


def test_a_positive_class_that_is_none() -> None:
    with pytest.raises(InputError, match="the positive class is 'on'; expected one of no, yes"):
        infer_labels(table(y=["no", "yes"]), ["y"], positive="on")
    with pytest.raises(InputError, match="a multi-class task has none"):
        infer_labels(table(y=["a", "b", "c"]), ["y"], positive="a")
    with pytest.raises(InputError, match="3 positive classes are named; expected one, or one for each of the 2"):
        infer_labels(table(a=["0", "1"], b=["0", "1"]), ["a", "b"], positive=["0", "1", "1"])


def test_labels_of_classes_and_numbers() -> None:
    y = table(y=["b", "", "c", "a"])
    assert read_labels(y, infer_labels(y, ["y"])).tolist() == [1, -1, 2, 0]
    numbers = table(y=["0.5", "NA", "-2", "1e3"])
    found = read_labels(numbers, infer_labels(numbers, ["y"]))
    torch.testing.assert_close(found, torch.tensor([[0.5], [NAN], [-2.0], [1e3]]), equal_nan=True)


@pytest.mark.parametrize(
    ("cells", "columns", "kind", "message"),
    [
        ({"y": ["1"]}, "", None, "no label column is named; the columns are 'y'"),
        ({"y": ["1"]}, "z", None, "there is no column 'z' for the labels; the columns are 'y'"),
        ({"y": ["1"]}, "yy", None, "named twice"),
        ({"y": ["", "NA"]}, "y", None, "label column 'y' is empty"),
        ({"y": ["a", "a"]}, "y", None, "label column 'y' has one class only, 'a'"),
        ({"y": ["0", "", "0"]}, "y", None, "label column 'y' has one class only, '0'"),
        ({"y": ["a", "a"]}, "y", "multi-class", "'y' has 1 different values; a multi-class task has at least 2"),
        ({"y": ["-1", "0", "1"]}, "y", None, "holds -1, 0, 1; say whether -1 is a missing label .--missing -1."),
        ({"y": ["1", "-1"]}, "y", None, "holds -1, 1; say whether"),
        (
            {"y": ["Active", "no", "active"]},
            "y",
            None,
            "'Active' in row 1 and 'active' in row 3, which differ in capitals",
        ),
        (
            {"y": ["0,5", "1.5", "2"]},
            "y",
            None,
            "row 1: column 'y' is '0,5'; expected a number .with a decimal point: 0.5.",
        ),
        ({"y": ["0", "1", "2"]}, "y", "binary", "'y' has 3 different values; a binary task has 2"),
        ({"y": ["0", "1"], "z": ["0", "1"]}, "yz", "binary", "a binary task has one label column"),
        (
            {"y": ["0", "1", "0"], "z": ["a", "b", "c"]},
            "yz",
            None,
            "several kinds: 'y' is binary, 'z' is multi-class; train a run for each",
        ),
        (
            {"y": ["0", "1", "0"], "z": ["1.5", "2", "3"]},
            "yz",
            None,
            "'y' is binary, 'z' is regression; train a run for each",
        ),
        ({"y": ["0", "1"]}, "y", "ranking", "kind is 'ranking'; expected one of binary"),
    ],
)
def test_errors(cells: dict[str, list[str]], columns: str, kind: Kind, message: str) -> None:
    with pytest.raises(InputError, match=message):
        infer_labels(table(**cells), list(columns), kind)


def test_one_stray_text_among_numbers_is_not_a_class() -> None:
    cells = [str(i / 7) for i in range(100)]
    cells[41] = ">10"
    with pytest.raises(
        InputError,
        match=r"row 42: column 'y' is '>10'; expected a number \(a censored value: write its limit, 10, or leave the "
        r"cell empty\), like most cells of the column",
    ):
        infer_labels(table(y=cells), ["y"])
    many = [f"a{i}" for i in range(MOST_CLASSES + 1)]
    with pytest.raises(InputError, match=r"row 1: column 'y' is 'a0'; .* or at most 50 classes; found 51: --task"):
        infer_labels(table(y=many), ["y"])
    assert len(infer_labels(table(y=cells), ["y"], "multi-class").names) == 100


def test_a_number_beyond_float32() -> None:
    with pytest.raises(InputError, match=r"row 2: column 'y' is '1e50'; expected a number within float32"):
        read_labels(table(y=["0.5", "1e50"]), LabelSchema(("y",), "regression", ()))


def test_a_class_that_the_schema_does_not_know() -> None:
    schema = infer_labels(table(y=["a", "b", "c"]), ["y"])
    with pytest.raises(InputError, match=r"row 2: label 'y' is 'd'; expected one of a, b, c"):
        read_labels(table(y=["a", "d"]), schema)


@given(st.lists(st.sampled_from(["", "3", "1", "2", "7"]), min_size=1, max_size=30))
def test_classes_come_back_by_their_names(cells: list[str]) -> None:
    y = table(y=[*cells, "1", "2"])
    schema = infer_labels(y, ["y"], "multi-class")
    found = [schema.names[code] if code >= 0 else "" for code in read_labels(y, schema).tolist()]
    assert found == [*cells, "1", "2"]


def test_labelled_and_strata() -> None:
    classes, two, numbers = torch.tensor([2, -1, 0]), torch.tensor([[1.0], [NAN]]), torch.tensor([[0.5], [1.0]])
    assert labelled(classes).tolist() == [0, 2]
    assert labelled(torch.tensor([[NAN, 1.0], [NAN, NAN]])).tolist() == [0]
    np.testing.assert_array_equal(strata(classes), [2, -1, 0])
    np.testing.assert_array_equal(strata(two), [1, -1])
    assert strata(numbers) is None
    assert strata(torch.zeros(3, 2)) is None


@pytest.mark.parametrize("kind", ["binary", "multi-label", "multi-class", "regression"])
def test_missing_labels(kind: Kind) -> None:
    outputs = 1 if kind == "binary" else 3
    y = missing_labels(Task("graph", kind, outputs, "accuracy" if kind != "regression" else "mae"), 4)
    assert len(y) == 4
    assert not len(labelled(y))


def test_classes_beyond_the_integers_of_float64_stay_apart() -> None:
    cells = [str(2**53), str(2**53 + 1), str(2**64 + 1), str(2**53)]
    many = table(y=cells)
    schema = infer_labels(many, ["y"], "multi-class")
    assert schema == LabelSchema(("y",), "multi-class", (tuple(cells[:3]),))
    assert read_labels(many, schema).tolist() == [0, 1, 2, 0]
    typed = Columns(Path("t.parquet"), pa.table({"y": pa.array([2**60 + 1, 2**60, 0])}))
    schema = infer_labels(typed, ["y"], "multi-class")
    assert schema.classes == (("0", str(2**60), str(2**60 + 1)),)
    assert read_labels(typed, schema).tolist() == [2, 1, 0]


def test_numbers_that_are_written_differently_are_one_class() -> None:
    cells = ["1", "1.0", "1e0", "+1", "2", "1e-9999999999999999999", "0"]
    schema = infer_labels(table(y=cells), ["y"], "multi-class")
    assert schema.classes == (("0", "1", "2"),)
    assert read_labels(table(y=cells), schema).tolist() == [1, 1, 1, 1, 2, 0, 0]


def test_classes_are_found_again_in_some_of_the_rows() -> None:
    mixed = table(y=["1.0", "a", "2.0"])
    schema = infer_labels(mixed, ["y"], "multi-class")
    assert read_labels(mixed.take(np.array([0, 2])), schema).tolist() == [0, 1]
