"""A workbook is read as the CSV file that it would be saved as."""

import sys
from pathlib import Path

import pytest

from deepergcn.data.molecules.rows import open_rows, stream_rows
from deepergcn.data.tables.columns import read_columns
from deepergcn.data.tables.read import read_tables
from deepergcn.errors import InputError
from tests.data.tables.workbook import write_workbook

MOLECULES: list[list[object]] = [
    ["name", " smiles ", "y"],
    ["a", "CCO", 1],
    [None, None, None],
    ["b", "c1ccccc1", 0.25],
    ["c", "N", None],
]


def test_cells_are_text(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "m.xlsx", Data=[*MOLECULES, ["d", True, 1e20]], Empty=[])
    found = read_columns(path)
    assert found.columns() == {
        "name": ["a", "b", "c", "d"],
        "smiles": ["CCO", "c1ccccc1", "N", "true"],
        "y": ["1", "0.25", "", "1e+20"],
    }
    assert found.numbers("y")[:2].tolist() == [1.0, 0.25]


def test_molecules_and_parts_of_them(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "m.xlsx", Data=MOLECULES)
    assert open_rows(path, None, "name").names == ["a", "b", "c"]
    assert [part.texts for part in stream_rows(path, 2, None, None)] == [["CCO", "c1ccccc1"], ["N"]]


def test_nodes_and_edges(tmp_path: Path) -> None:
    nodes = write_workbook(
        tmp_path / "nodes.xlsx", N=[["id", "y", "size"], *([f"n{i}", "ab"[i % 2], i / 4] for i in range(12))]
    )
    edges = write_workbook(
        tmp_path / "edges.xlsx", E=[["source", "target"], *([f"n{i}", f"n{i * 5 % 12}"] for i in range(1, 12))]
    )
    dataset = read_tables(nodes, edges, label="y", root=tmp_path)
    assert dataset.num_nodes == 12
    assert dataset.x is not None
    assert dataset.x[:3, 0].tolist() == [0.0, 0.25, 0.5]
    write_workbook(edges, E=[["source", "target"], ["n1", "n2"], ["n1", "x"]])
    with pytest.raises(InputError, match=r"edges\.xlsx: row 2: target 'x' is not the id of a node"):
        read_tables(nodes, edges, label="y", root=tmp_path)


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.xlsx"
    for sheets, message in (
        ({"A": MOLECULES, "B": MOLECULES}, "has 2 sheets with cells (A, B); expected one"),
        ({"A": []}, "has 0 sheets with cells; expected one"),
        ({"A": [["smiles", None], ["C", None], ["C", "x"]]}, "row 2 has a cell in column 2, which has no name"),
        ({"A": [["y", "y"], [1, 2]]}, "two columns are called 'y'"),
    ):
        write_workbook(path, **sheets)
        with pytest.raises(InputError) as caught:
            read_columns(path)
        assert message in str(caught.value)
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"it is not an \.xlsx workbook, or it is damaged"):
        read_columns(path)
    (tmp_path / "m.xls").write_bytes(b"")
    with pytest.raises(InputError, match=r"save it as \.xlsx, or its sheet as CSV"):
        read_columns(tmp_path / "m.xls")
    write_workbook(path, A=MOLECULES)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(
        InputError, match=r"install the extra: pip install 'deepergcn\[excel\]', or save the sheet as CSV"
    ):
        read_columns(path)
