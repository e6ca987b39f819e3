"""The predictions of a trained network for the rows of a file, and the files they are written to."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from deepergcn.data.storage.files import write_bytes
from deepergcn.data.tables.columns import Columns
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.inference.parts.slices import write_slices
from deepergcn.runs.model.calibration import Calibration
from deepergcn.runs.model.outputs import beside, cells, decided_classes, output_columns, thresholds, to_probabilities

Floats = npt.NDArray[np.float32]

PREDICTION_NAMES = (".csv", ".parquet")
EMBEDDING_NAMES = (".npz", ".parquet", ".csv")
"""How the names of files end that can be written."""

_NUMBER = re.compile(r"-[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?")
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, eq=False)
class Predictions:
    """A prediction for every row of the input, in the same order; empty for a row that cannot be read.

    Attributes:
        task: The task.
        names: The names of the task's outputs.
        classes: The names of the two classes of every label of a binary or multi-label task, the positive one second.
        ids: The id of every row.
        values: [rows, outputs]; probabilities of classes or labels, or the numbers of a regression; NaN where empty.
        skipped: The rows that cannot be read, with the reason.
        calibration: The calibration of the probabilities, if the loss was balanced.
        inputs: The columns of the input.
        deviations: [rows, outputs], the standard deviation over the members of an ensemble.
        made_of: A description of the models that are averaged; empty for a network alone.
    """

    task: Task
    names: tuple[str, ...]
    classes: tuple[tuple[str, str], ...]
    ids: tuple[str, ...]
    values: Floats
    skipped: tuple[Skipped, ...] = ()
    calibration: Calibration | None = None
    inputs: Columns | None = None
    deviations: Floats | None = None
    made_of: str = ""

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.ids)

    def columns(self, *, inputs: bool = False) -> dict[str, list[Any]]:
        """The predictions as columns by name, None where empty; ``id`` first.

        :func:`deepergcn.runs.model.outputs.output_columns` gives their names. With ``inputs``, the columns of the input
        come first, and ``id`` is left out if the input has a column with this name. The predictions of an ensemble have
        a column ``deviation(NAME)`` for every column of numbers.
        """
        decided = decided_classes(self.task, self.values, self.calibration)
        predicted = output_columns(self.task, self.names, self.classes, self.values, decided)
        if self.deviations is not None:
            spread = output_columns(self.task, self.names, self.classes, self.deviations, decided)
            predicted |= {f"deviation({name})": spread[name] for name in predicted if _has_numbers(predicted[name])}
        known = {} if self.inputs is None or not inputs else self.inputs.columns()
        return beside(known if "id" in known else {"id": list(self.ids), **known}, predicted)

    def take(self, rows: Sequence[int]) -> "Predictions":
        """The predictions of these rows, counted from 0, without the columns of the input."""
        index = np.asarray(rows, dtype=np.int64)
        spread = None if self.deviations is None else self.deviations[index]
        ids = tuple(self.ids[row] for row in index.tolist())
        return replace(self, ids=ids, values=self.values[index], deviations=spread, skipped=(), inputs=None)

    def decisions(self) -> list[str]:
        """The rule that decides for a class, if that is not always the most probable one: a line for every label."""
        if self.calibration is None or self.task.kind == "regression":
            return []
        if self.task.kind == "multi-class":
            return ["class is the one that was most probable before calibration on the validation part"]
        limits = thresholds(self.task, self.calibration)
        several = self.task.kind == "multi-label"
        return [
            f"class{f'({name})' if several else ''} is {pair[1]} where its probability is above {limit:.3g}, "
            "which was a half before calibration on the validation part"
            for name, pair, limit in zip(self.names, self.classes, limits, strict=True)
        ]

    def extent(self) -> str:
        """How much there is, for people."""
        return f"{len(self)} rows"

    def notes(self) -> list[str]:
        """The models that are averaged, and the rule that decides for a class, as readable lines."""
        return [*([f"predictions are {self.made_of}"] if self.made_of else []), *self.decisions()]

    def write(self, path: str | Path, *, spreadsheet: bool = False, inputs: bool = True) -> None:
        """Write the columns atomically to a ``.csv`` or ``.parquet`` file.

        Args:
            path: The file.
            spreadsheet: In a CSV file, put ``'`` before every text that begins with ``=``, ``+``, ``-``, ``@``, a tab
                or a line break and is not a negative number: a spreadsheet would read it as a formula.
            inputs: Whether to write the columns of the input too.
        """
        ending = check_ending(path, PREDICTION_NAMES)
        write_slices(self, Path(path), ending, spreadsheet=spreadsheet, inputs=inputs)

    def slice(self, start: int, stop: int) -> "Predictions":
        """The predictions of the rows from ``start``, counted from 0, up to ``stop``, with the columns of the input."""
        spread = None if self.deviations is None else self.deviations[start:stop]
        beside = None if self.inputs is None else self.inputs.slice(start, stop)
        ids, values = self.ids[start:stop], self.values[start:stop]
        return replace(self, ids=ids, values=values, deviations=spread, skipped=(), inputs=beside)

    def content(self, ending: str, *, spreadsheet: bool = False, inputs: bool = True) -> bytes:
        """What :meth:`write` writes to a file whose name ends so."""
        if ending == ".parquet":
            return parquet(self.table(inputs=inputs))
        columns = self.columns(inputs=inputs)
        shown = _no_formula if spreadsheet else _text
        rows = zip(*(map(shown, column) for column in columns.values()), strict=True)
        return csv_text([map(shown, columns), *rows]).encode()

    def table(self, *, inputs: bool = True, spreadsheet: bool = False) -> Any:
        """The Arrow table of the columns, with types that do not depend on the rows, even where all cells are empty."""
        known = {} if self.inputs is None or not inputs else self.inputs.arrays()
        arrays = {name: known.get(name, column) for name, column in self.columns(inputs=inputs).items()}
        classes = self.task.kind != "regression"
        for name, column in arrays.items():
            if isinstance(column, list):
                text = name == "id" or (classes and name.startswith("class"))
                array = pa.array(column)
                empty = pa.string() if text else pa.float64()
                arrays[name] = array.cast(empty) if pa.types.is_null(array.type) else array
        return pa.table(arrays)


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The embedding of each row's node or graph, in the order of the input: its features before the network's head.

    Attributes:
        ids: The id of every row.
        values: [rows, channels]; NaN for a row that cannot be read.
        skipped: The rows that cannot be read, with the reason.
    """

    ids: tuple[str, ...]
    values: Floats
    skipped: tuple[Skipped, ...] = ()

    def write(self, path: str | Path) -> None:
        """Write an ``.npz`` (arrays ``id`` and ``embedding``), ``.parquet`` (columns of these names) or ``.csv`` file.

        A CSV file has the columns ``id`` and ``embedding_0`` to the last channel.
        """
        ending = check_ending(path, EMBEDDING_NAMES)
        if ending == ".npz":
            write_bytes(Path(path), self.content(ending))
        else:
            write_slices(self, Path(path), ending)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.ids)

    def extent(self) -> str:
        """How much there is, for people."""
        return f"{len(self)} rows of {self.values.shape[1]} channels"

    def notes(self) -> list[str]:
        """No lines: there are no notes on embeddings."""
        return []

    def slice(self, start: int, stop: int) -> "Embeddings":
        """The embeddings of the rows from ``start``, counted from 0, up to ``stop``."""
        return Embeddings(self.ids[start:stop], self.values[start:stop])

    def table(self) -> Any:
        """The Arrow table of the columns ``id`` and ``embedding``, whose rows are null where there is none."""
        empty = np.isnan(self.values).any(1)
        lists = pa.FixedSizeListArray.from_arrays(
            pa.array(self.values.ravel()), self.values.shape[1], mask=pa.array(empty)
        )
        return pa.table({"id": pa.array(self.ids, pa.string()), "embedding": lists})

    def content(self, ending: str) -> bytes:
        """What :meth:`write` writes to a file whose name ends so."""
        if ending == ".npz":
            content = io.BytesIO()
            np.savez(content, id=np.array(self.ids, dtype=np.str_), embedding=self.values)
            return content.getvalue()
        if ending == ".csv":
            header = ["id", *(f"embedding_{channel}" for channel in range(self.values.shape[1]))]
            rows = ([name, *map(_text, cells(row))] for name, row in zip(self.ids, self.values, strict=True))
            return csv_text([header, *rows]).encode()
        return parquet(self.table())


def probabilities(task: Task, outputs: Tensor, calibration: Calibration | None = None) -> Tensor:
    """From the outputs of a network [items, outputs] to probabilities, or to the numbers of a regression."""
    if not bool(outputs.isfinite().all()):
        raise InputError("the outputs of the network are not finite: its weights or the features are too large")
    return to_probabilities(task, outputs, calibration)


def at_rows(values: Tensor, positions: Tensor, rows: int) -> Floats:
    """The values [items, width] of the items at these rows, and NaN in all others."""
    out = torch.full((rows, values.shape[1]), torch.nan)
    out[positions] = values.float()
    array: Floats = out.numpy()
    return array


def check_ending(path: str | Path, endings: Sequence[str]) -> str:
    """The ending of the name of an output file, checked before there is anything to write."""
    ending = next((ending for ending in endings if str(path).lower().endswith(ending)), None)
    if ending is None:
        raise InputError(f"{path}: expected a name that ends in {' or '.join(endings)}")
    if not Path(path).parent.is_dir():
        raise InputError(f"{path}: the folder {Path(path).parent} does not exist")
    return ending


def _has_numbers(column: Sequence[Any]) -> bool:
    return any(isinstance(cell, float) for cell in column)


def _text(cell: Any) -> str:
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _no_formula(cell: Any) -> str:
    text = _text(cell)
    formula = isinstance(cell, str) and text.startswith(_FORMULAS) and not _NUMBER.fullmatch(text)
    return f"'{text}" if formula else text


def parquet(table: Any) -> bytes:
    """An Arrow table as the content of a file."""
    content = io.BytesIO()
    pyarrow.parquet.write_table(table, content)
    return content.getvalue()
