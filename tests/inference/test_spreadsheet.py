"""Predictions that are opened in a spreadsheet: no id or name is taken for a formula."""

import csv
from pathlib import Path

import numpy as np

from deepergcn.data.task import Task
from deepergcn.inference.predictions import Predictions

IDS = ("=HYPERLINK(1)", "+1", "-1", "@sum", "\tx", "CCO", "'quoted", "", "a\rb", 'a,"b"\nc')


def predictions() -> Predictions:
    values = np.linspace(-1, 1, len(IDS), dtype=np.float32)[:, None]
    return Predictions(Task("graph", "regression", 1, "rmse"), ("=target",), (), IDS, values)


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_cells_that_begin_as_formulas_are_escaped_where_asked_and_numbers_never(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    predictions().write(path, spreadsheet=True)
    header, *body = rows(path)
    assert header == ["id", "'=target"]
    escaped = [name if name == "-1" else f"'{name}" for name in IDS[:5]]
    assert [row[0] for row in body] == escaped + list(IDS[5:])
    assert [row[1] for row in body] == [f"{value:.6g}" for value in np.linspace(-1, 1, len(IDS), dtype=np.float32)]


def test_without_the_option_ids_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    predictions().write(path)
    assert [row[0] for row in rows(path)[1:]] == list(IDS)


def test_names_of_columns_and_classes_are_escaped_too(tmp_path: Path) -> None:
    values = np.array([[0.9, 0.1], [0.2, 0.8]], dtype=np.float32)
    task = Task("graph", "multi-label", 2, "rocauc")
    classes = (("=no", "=yes"), ("0", "1"))
    path = tmp_path / "predictions.csv"
    Predictions(task, ("=a", "b"), classes, ("x", "y"), values).write(path, spreadsheet=True)
    header, first, second = rows(path)
    assert header == ["id", "class(=a)", "p(=a==yes)", "class(b)", "p(b=1)"]
    assert (first[1], second[1]) == ("'=yes", "'=no")
