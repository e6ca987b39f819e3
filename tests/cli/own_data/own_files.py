"""Files as users have them: molecules and tables of 60 rows, and what is said of them before training."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from deepergcn.cli.own_data_options import OwnDataOptions
from deepergcn.cli.read_own_data import read_own_data
from deepergcn.errors import InputError

ROWS = 60


def smiles(i: int) -> str:
    return f"{'C' * (i % 30 + 1)}{'ON'[i // 30 % 2]}"


def molecules(label: Callable[[int], object], *, header: str = "smiles,y", between: str = ",", **more: Any) -> str:
    """A file of molecules: SMILES, a label, and further columns by their header."""
    names = header.split(",")
    extra = [more[name.strip().lower()] for name in names[2:]]
    lines = [[smiles(i), str(label(i)), *(str(column(i)) for column in extra)] for i in range(ROWS)]
    return "\n".join(between.join(row) for row in [names, *lines]) + "\n"


def nodes(label: Callable[[int], object] = lambda i: "abc"[i % 3], **features: Callable[[int], object]) -> str:
    """A table of nodes: id, label y, and features."""
    columns = {"id": lambda i: f"n{i}", "y": label, **features}
    rows = [",".join(str(column(i)) for column in columns.values()) for i in range(ROWS)]
    return "\n".join([",".join(columns), *rows]) + "\n"


EDGES = "source,target\n" + "".join(f"n{i},n{(i * 7 + 1) % ROWS}\n" for i in range(ROWS))


def size(i: int) -> str:
    return f"{i / 7:.3f}"


def active(i: int) -> str:
    return "active" if i % 3 == 0 else "inactive"


def number(i: int) -> str:
    return f"{i * 0.37:.3f}"


@dataclass(frozen=True)
class Case:
    """A file and what is said of it.

    Attributes:
        text: the content of the file: molecules, or nodes where there are edges.
        expected: texts that the printed report has, or the error.
        options: the options of the command line.
        edges: the table of edges.
        name: the name of the file.
    """

    text: str | bytes
    expected: tuple[str, ...]
    options: dict[str, Any]
    edges: str | None = None
    name: str = "mine.csv"


def mine(text: str | bytes, *expected: str, name: str = "mine.csv", **options: Any) -> Case:
    return Case(text, expected, {"target": ["y"], **options}, name=name)


def graph(text: str, *expected: str, edges: str = EDGES, **options: Any) -> Case:
    return Case(text, expected, {"label": ["y"], **options}, edges)


PARTS = ["train", "train", "valid", "test"]


def part(i: int) -> str:
    return PARTS[i // 3 % 4]


def masks(i: int, name: str) -> bool:
    return part(i) == name


def parquet(**columns: list[Any]) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


def read(case: Case, folder: Path, *settings: str) -> str:
    """What is printed about the file of the case, with these settings as ``--set`` takes them."""
    file = folder / (case.name if case.edges is None else "nodes.csv")
    file.write_bytes(case.text if isinstance(case.text, bytes) else case.text.encode())
    options = dict(case.options)
    if case.edges is None:
        options["molecules"] = str(file)
    else:
        (folder / "edges.csv").write_text(case.edges)
        options |= {"nodes": [str(file)], "edges": [str(folder / "edges.csv")]}
    found = read_own_data(OwnDataOptions(**options), settings)
    assert found is not None
    return "".join(f"{topic:<9} {text}\n" for topic, text in found[1].report.lines())


def refused(case: Case, folder: Path) -> None:
    """Check that the file of the case is refused in one line with the expected texts."""
    with pytest.raises(InputError) as error:
        read(case, folder)
    message = str(error.value)
    assert "\n" not in message
    for text in case.expected:
        assert text in message
