"""What a trained network says about the rows of a file, and the files that it is written to."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
import torch
from torch import Tensor

from deepergcn.data.molecules.skipped import Skipped
from deepergcn.data.storage.csv_text import csv_text
from deepergcn.data.storage.files import write_bytes, write_text
from deepergcn.data.task import Task
from deepergcn.errors import InputError

Floats = npt.NDArray[np.float32]

PREDICTION_NAMES = (".csv", ".parquet")
EMBEDDING_NAMES = (".npz", ".parquet")
"""How the names of files end that can be written."""

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, eq=False)
class Predictions:
    """A prediction for every row of the input, in its order; empty for a row that cannot be read.

    Attributes:
        task: What is predicted.
        names: The names of the task's outputs.
        classes: The names of the two classes of every label of a binary or multi-label task.
        ids: The id of every row.
        values: [rows, outputs]; probabilities of classes or labels, or the numbers of a regression; NaN where empty.
        skipped: The rows that cannot be read, with the reason.
    """

    task: Task
    names: tuple[str, ...]
    classes: tuple[tuple[str, str], ...]
    ids: tuple[str, ...]
    values: Floats
    skipped: tuple[Skipped, ...] = ()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.ids)

    def columns(self) -> dict[str, list[Any]]:
        """The predictions as columns by name, None where empty.

        After ``id`` come ``class`` and a ``score_`` for every class of a multi-class task, and for the second class of
        a binary task; a ``class_`` and ``score_`` for every label of a multi-label task; or ``value`` (``value_`` and
        the target's name, where there are several) of a regression.
        """
        filled = [not bool(row.any()) for row in np.isnan(self.values)]
        columns: dict[str, list[Any]] = {"id": list(self.ids)}
        several = self.task.kind == "multi-label" or (self.task.kind == "regression" and len(self.names) > 1)
        if self.task.kind == "multi-class":
            best = np.where(filled, self.values.argmax(1), -1).tolist()
            columns["class"] = [self.names[number] if number >= 0 else None for number in best]
            columns |= {f"score_{name}": _cells(scores) for name, scores in zip(self.names, self.values.T, strict=True)}
            return columns
        for position, (name, values) in enumerate(zip(self.names, self.values.T, strict=True)):
            ending = f"_{name}" if several else ""
            if self.task.kind == "regression":
                columns[f"value{ending}"] = _cells(values)
            else:
                pair = self.classes[position]
                columns[f"class{ending}"] = [
                    pair[int(score > 0.5)] if there else None for score, there in zip(values, filled, strict=True)
                ]
                columns[f"score{ending or '_' + pair[1]}"] = _cells(values)
        return columns

    def write(self, path: str | Path, *, spreadsheet: bool = False) -> None:
        """Write the columns to a file ``.csv`` or ``.parquet``, whole or not at all.

        Args:
            path: The file.
            spreadsheet: In a CSV file, put ``'`` before every text that begins with ``=``, ``+``, ``-``, ``@``, a tab
                or a line break: a spreadsheet would take it for a formula.
        """
        columns = self.columns()
        if check_ending(path, PREDICTION_NAMES) == ".parquet":
            write_bytes(Path(path), _parquet(pa.table(columns)))
            return
        shown = _no_formula if spreadsheet else _text
        rows = zip(*(map(shown, column) for column in columns.values()), strict=True)
        write_text(Path(path), csv_text([map(shown, columns), *rows]))


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The features of every row's node or graph before the network's head, in the order of the input.

    Attributes:
        ids: The id of every row.
        values: [rows, channels]; NaN for a row that cannot be read.
        skipped: The rows that cannot be read, with the reason.
    """

    ids: tuple[str, ...]
    values: Floats
    skipped: tuple[Skipped, ...] = ()

    def write(self, path: str | Path) -> None:
        """Write a file ``.npz`` (arrays ``id`` and ``embedding``) or ``.parquet`` (columns of these names)."""
        if check_ending(path, EMBEDDING_NAMES) == ".npz":
            content = io.BytesIO()
            np.savez(content, id=np.array(self.ids, dtype=np.str_), embedding=self.values)
            write_bytes(Path(path), content.getvalue())
            return
        empty = np.isnan(self.values).any(1)
        lists = pa.FixedSizeListArray.from_arrays(
            pa.array(self.values.ravel()), self.values.shape[1], mask=pa.array(empty)
        )
        write_bytes(Path(path), _parquet(pa.table({"id": list(self.ids), "embedding": lists})))


def probabilities(task: Task, outputs: Tensor) -> Tensor:
    """From the outputs of a network [items, outputs] to probabilities, or to the numbers of a regression."""
    if not bool(outputs.isfinite().all()):
        raise InputError("the outputs of the network are not finite: its weights or the features are too large")
    return to_probabilities(task, outputs)


def to_probabilities(task: Task, outputs: Tensor) -> Tensor:
    """:func:`probabilities` without a check of the outputs."""
    if task.kind == "multi-class":
        return outputs.softmax(1)
    return outputs if task.kind == "regression" else outputs.sigmoid()


def at_rows(values: Tensor, positions: Tensor, rows: int) -> Floats:
    """The values [items, width] of the items at these rows, and NaN in all others."""
    out = torch.full((rows, values.shape[1]), torch.nan)
    out[positions] = values.float()
    array: Floats = out.numpy()
    return array


def check_ending(path: str | Path, endings: Sequence[str]) -> str:
    """How the name of a file to be written ends, checked before there is anything to write."""
    ending = next((ending for ending in endings if str(path).lower().endswith(ending)), None)
    if ending is None:
        raise InputError(f"{path}: expected a name that ends in {' or '.join(endings)}")
    if not Path(path).parent.is_dir():
        raise InputError(f"{path}: the folder {Path(path).parent} does not exist")
    return ending


def _cells(values: Floats) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def _text(cell: Any) -> str:
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _no_formula(cell: Any) -> str:
    text = _text(cell)
    return f"'{text}" if isinstance(cell, str) and text.startswith(_FORMULAS) else text


def _parquet(table: Any) -> bytes:
    content = io.BytesIO()
    pyarrow.parquet.write_table(table, content)
    return content.getvalue()
