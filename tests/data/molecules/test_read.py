"""Tables of molecules become datasets: every format, every kind of target, and bad rows listed."""

import csv
import gzip
import io
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from deepergcn.categories import ATOM_SIZES, BOND_SIZES
from deepergcn.data import Dataset, Task, load_dataset
from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.molecules.read import read_molecules, read_molecules_to_predict
from deepergcn.data.molecules.sdf import read_sdf
from deepergcn.data.molecules.skipped import Skipped, write_skipped
from deepergcn.data.provenance import MoleculeProvenance, skipped_rows
from deepergcn.errors import InputError
from tests.data.examples import assert_same


def row_numbers(dataset: Dataset) -> list[int]:
    assert isinstance(dataset.provenance, MoleculeProvenance)
    return list(dataset.provenance.row_numbers())


ROWS: list[dict[str, Any]] = [
    {"name": "ethane", "SMILES": "CC", "active": "1", "level": "low", "value": "0.5", "part": "train"},
    {"name": "ring", "SMILES": "C1CC", "active": "0", "level": "low", "value": "1.5", "part": "train"},
    {"name": "ethanol", "SMILES": "CCO", "active": "0", "level": "high", "value": "", "part": "test"},
    {"name": "benzene", "SMILES": "c1ccccc1", "active": "", "level": "mid", "value": ">3", "part": "valid"},
    {"name": "toluene", "SMILES": "Cc1ccccc1", "active": "1", "level": "", "value": "-2", "part": "train"},
]
NAN = float("nan")


def write_csv(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "molecules.csv")


def test_binary(file: Path, root: Path) -> None:
    dataset = read_molecules(file, targets="active", id_column="name", root=root)
    assert dataset.task == Task("graph", "binary", 1, "rocauc")
    assert dataset.ids == ("ethane", "ethanol", "benzene", "toluene")
    torch.testing.assert_close(dataset.y, torch.tensor([[1.0], [0.0], [NAN], [1.0]]), equal_nan=True)
    assert (dataset.x_categories, dataset.edge_categories) == (ATOM_SIZES, BOND_SIZES)
    assert dataset.node_ptr.diff().tolist() == [2, 3, 6, 7]
    ethanol = dataset.graph(1)
    assert ethanol.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert ethanol.x[:, 0].tolist() == [5, 5, 7]
    # Benzene has no label, and is in no part of a random split.
    assert sorted(torch.cat(list(dataset.split.values())).tolist()) == [0, 1, 3]


def test_bad_rows_are_counted_and_listed(file: Path, root: Path, caplog: pytest.LogCaptureFixture) -> None:
    listed = file.with_name("skipped.csv")
    with caplog.at_level(logging.WARNING):
        dataset = read_molecules(file, targets="active", skipped_file=listed, root=root)
    assert skipped_rows(dataset.provenance) == (Skipped(2, "C1CC", "unclosed ring"),)
    assert row_numbers(dataset) == [1, 3, 4, 5]
    assert listed.read_text().splitlines() == ["row,molecule,reason", "2,C1CC,unclosed ring"]
    assert caplog.messages == [f"{file}: 1 of 5 rows skipped; row 2 is 'C1CC': unclosed ring"]


def test_strict_is_an_error_even_from_the_cache(file: Path, root: Path) -> None:
    for _ in range(2):
        with pytest.raises(InputError, match=r"molecules.csv: row 2.* 'C1CC': unclosed ring"):
            read_molecules(file, targets="active", strict=True, root=root)
        read_molecules(file, targets="active", root=root)
    write_csv(file, [row for row in ROWS if row["name"] != "ring"])
    assert len(read_molecules(file, targets="active", strict=True, root=root)) == 4


def test_multi_class(file: Path, root: Path) -> None:
    dataset = read_molecules(file, targets=["level"], root=root)
    assert dataset.task == Task("graph", "multi-class", 3, "accuracy")
    assert dataset.label_names == ("high", "low", "mid")
    assert dataset.y.tolist() == [1, 0, 2, -1]
    assert dataset.ids == ("CC", "CCO", "c1ccccc1", "Cc1ccccc1")


def test_a_target_that_is_no_number_is_skipped_in_a_regression(file: Path, root: Path) -> None:
    dataset = read_molecules(file, targets="value", kind="regression", metric="mae", root=root)
    assert dataset.task == Task("graph", "regression", 1, "mae")
    torch.testing.assert_close(dataset.y, torch.tensor([[0.5], [NAN], [-2.0]]), equal_nan=True)
    assert skipped_rows(dataset.provenance) == (
        Skipped(2, "C1CC", "unclosed ring"),
        Skipped(
            4,
            "c1ccccc1",
            "column 'value' is '>3'; expected a number (a censored value: write its limit, 3, or leave the cell empty)",
        ),
    )
    assert row_numbers(dataset) == [1, 3, 5]
    with pytest.raises(InputError, match=r"row 4: column 'value' is '>3'; expected a number"):
        read_molecules(file, targets="value", kind="regression", strict=True, root=root / "not read before")
    with pytest.raises(InputError, match="row 2 is 'C1CC': unclosed ring"):
        read_molecules(file, targets="value", kind="regression", strict=True, root=root)


def test_several_targets(file: Path, root: Path) -> None:
    rows = [{**row, "other": str(i % 2)} for i, row in enumerate(ROWS)]
    dataset = read_molecules(write_csv(file, rows), targets=["active", "other"], root=root)
    assert dataset.task == Task("graph", "multi-label", 2, "rocauc")
    assert dataset.label_names == ("active", "other")
    assert dataset.y[:, 1].tolist() == [0, 0, 1, 0]


def test_split_by_column(file: Path, root: Path) -> None:
    dataset = read_molecules(file, targets="active", split_column="part", root=root)
    assert {part: index.tolist() for part, index in dataset.split.items()} == {
        "train": [0, 3],
        "valid": [2],
        "test": [1],
    }
    rows = [*ROWS[:3], {**ROWS[3], "part": "later"}]
    with pytest.raises(
        InputError, match=r"molecules.csv: row 4: the split column 'part' is 'later'; expected train, valid or test"
    ):
        read_molecules(write_csv(file, rows), targets="active", split_column="part", root=root)


def test_split_by_scaffold(file: Path, root: Path) -> None:
    smiles = ["CC", "c1ccccc1", "Cc1ccccc1", "C1CC1", "CCO", "C1CC", "CCC", "Oc1ccccc1", "c1ccncc1", "CCCC", "CCN"]
    rows = [{"smiles": text, "y": str(i % 2)} for i, text in enumerate(smiles)]
    dataset = read_molecules(write_csv(file, rows), targets="y", split="scaffold", root=root)
    # Chains (5) and benzenes (3) fill train; pyridine, the later of the two alone, is valid. Row 6 is not there.
    assert {part: index.tolist() for part, index in dataset.split.items()} == {
        "train": [0, 1, 2, 4, 5, 6, 8, 9],
        "valid": [7],
        "test": [3],
    }


def test_formats_are_the_same(file: Path, root: Path, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "molecules.parquet")
    expected = read_molecules(file, targets="level", root=root)
    for path in (write_csv(tmp_path / "molecules.csv.gz"), tmp_path / "molecules.parquet"):
        found = read_molecules(path, targets="level", root=root)
        assert_same(found.replace(name=expected.name, digest=expected.digest), expected)


SDF = """\
{name}
  made here

{atoms:3d}{bonds:3d}  0  0  0  0  0  0  0  0999 V2000
{body}M  END
>  <level>  (1)
{level}

> <note>
two
lines

$$$$
"""


def record(name: str, symbols: str, level: str) -> str:
    atoms = "".join(f"{i:10.4f}{0:10.4f}{0:10.4f} {symbol:3s} 0  0\n" for i, symbol in enumerate(symbols))
    bonds = "".join(f"{i:3d}{i + 1:3d}  1  0\n" for i in range(1, len(symbols)))
    count = len(symbols) - 1
    return SDF.format(name=name, atoms=len(symbols), bonds=count, body=atoms + bonds, level=level)


def test_an_sdf_in_latin_1_is_read_as_such_and_the_record_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "m.sdf"
    text = record("ethane", "CC", "low") + record("m\u00e9thanol", "CO", "high")
    path.write_bytes(text.replace("\n", "\r\n").encode("latin-1"))
    assert read_sdf(path)[1].text("_Name").to_pylist() == ["ethane", "m\u00e9thanol"]
    assert "m.sdf: record 2 has the byte 0xe9, which is not UTF-8; the file is read as Latin-1" in caplog.text
    caplog.clear()
    path.write_bytes(text.encode())
    assert read_sdf(path)[1].text("_Name").to_pylist() == ["ethane", "m\u00e9thanol"]
    assert not caplog.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("line", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("between", ["", "\n", " \n\n"])
def test_blank_lines_between_records_and_lines_and_marks_of_any_system_change_nothing(
    encoding: str, line: str, between: str, tmp_path: Path
) -> None:
    """The counts are in the fourth line of a record, so that what stands before the title is known."""
    path = tmp_path / "m.sdf"
    text = record("ethane", "CC", "low") + between + record("", "CO", "high") + between + record("water", "O", "low")
    path.write_bytes((between + text.removesuffix("$$$$\n") + between).replace("\n", line).encode(encoding))
    texts, table = read_sdf(path)
    assert table.text("_Name").to_pylist() == ["ethane", None, "water"]
    assert table.text("level").to_pylist() == ["low", "high", "low"]
    assert [len(parse_molecules([text], form="molblock").positions) for text in texts] == [1, 1, 1]


@pytest.mark.parametrize("packed", [False, True])
def test_sdf(packed: bool, root: Path, tmp_path: Path) -> None:
    text = record("ethane", "CC", "low") + record("broken", "CXC", "low") + record("ethanol", "CCO", "high")
    text = text.replace("\n", "\r\n")
    path = tmp_path / ("m.sdf.gz" if packed else "m.sdf")
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if packed else text.encode())
    assert read_sdf(path)[1].names == ("_Name", "level", "note")
    assert read_sdf(path)[1].text("note").to_pylist() == ["two\nlines"] * 3
    text = text.replace("  3  2  0", "  3  9  0", 1)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if packed else text.encode())
    dataset = read_molecules(path, targets="level", root=root)
    assert dataset.ids == ("ethane", "ethanol")
    assert dataset.task.kind == "binary"
    assert dataset.y[:, 0].tolist() == [1, 0]
    assert [(row.row, row.molecule) for row in skipped_rows(dataset.provenance)] == [(2, "broken")]
    assert dataset.x is not None
    assert dataset.x[:, 0].tolist() == [5, 5, 5, 5, 7]
    assert len(read_molecules_to_predict(path, dataset.task)) == 2
    with pytest.raises(InputError, match=r"no row can be read; row 1 is 'ethane': column 'level' is 'low'; expected"):
        read_molecules(path, targets="level", kind="regression", root=root)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.sdf", b"  \n", "the file is empty"),
        ("m.sdf.gz", b"hello", "cannot be read: Not a gzipped file"),
        ("m.sdf.gz", gzip.compress(b"hello" * 99, mtime=0)[:-9], "damaged or cut short .Compressed file ended"),
        ("m.sdf", "m\n".encode("utf-16"), "is text in UTF-16; save it in UTF-8"),
        ("m.sdf", b"nonsense", "there is no column 'y' for the labels; the columns are '_Name'"),
        ("m.csv", b"smiles,y\n", "the table has no rows"),
        ("m.csv", b"smiles,y", "the table has no rows"),
        ("m.csv", b"smiles,y\nx,1\nx,0\n", "no row can be read; row 1 is 'x': syntax error near position 1"),
        ("m.csv", b"mol,y\nC,1\n", "there is no column 'smiles' for the SMILES; the columns are 'mol', 'y'"),
        ("m.mol", b"C\n", "expected a name that ends in .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .xlsx, .xlsm, .sdf"),
    ],
)
def test_damage_is_named_and_mended(name: str, content: bytes, message: str, root: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_molecules(path, targets="y", root=root)
    assert str(caught.value).startswith(f"{path}: ")
    good = write_csv(tmp_path / "m.csv", [{"smiles": "C", "y": 1}, {"smiles": "CC", "y": 0}])
    assert len(read_molecules(good, targets="y", root=root)) == 2


def test_wrong_arguments(file: Path, root: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no label column is named; the columns are 'name', 'SMILES'"):
        read_molecules(file, root=root)
    with pytest.raises(InputError, match="split is 'scafold'; expected random or stratified or scaffold"):
        read_molecules(file, targets="active", split="scafold", root=root)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no column 'fold' for the split"):
        read_molecules(file, targets="active", split_column="fold", root=root)
    with pytest.raises(InputError, match="no column 'cas' for the ids"):
        read_molecules(file, targets="active", id_column="cas", root=root)
    with pytest.raises(InputError, match=r"none\.csv: there is no such file"):
        read_molecules(tmp_path / "none.csv", targets="active", root=root)
    sdf = tmp_path / "m.sdf"
    sdf.write_text(record("ethane", "CC", "low"))
    with pytest.raises(InputError, match="expected no --smiles-column"):
        read_molecules(sdf, targets="level", smiles_column="smiles", root=root)


def test_cache_follows_the_file_and_the_options(file: Path, root: Path) -> None:
    steps: list[tuple[int, int]] = []

    def read(**options: Any) -> Dataset:
        return read_molecules(file, targets="level", root=root, progress=lambda *s: steps.append(s), **options)

    first = read()
    assert steps == [(5, 5)]
    assert_same(read(), first)
    assert steps == [(5, 5)]
    assert read(seed=1).split["train"].tolist() != first.split["train"].tolist()
    write_csv(file, ROWS[:3])
    assert len(read()) == 2
    assert steps == [(5, 5), (5, 5), (3, 3)]


def test_to_predict(file: Path) -> None:
    task = Task("graph", "multi-class", 3, "accuracy")
    dataset = read_molecules_to_predict(file, task, label_names=("a", "b", "c"), id_column="name")
    assert dataset.task == task
    assert dataset.y.tolist() == [-1] * 4
    assert dataset.split["test"].tolist() == [0, 1, 2, 3]
    assert row_numbers(dataset) == [1, 3, 4, 5]
    assert [row.row for row in skipped_rows(dataset.provenance)] == [2]
    with pytest.raises(InputError, match="row 2: cannot read molecule 'C1CC'"):
        read_molecules_to_predict(file, task, strict=True)
    with pytest.raises(InputError, match="the task is on nodes; expected a task on graphs"):
        read_molecules_to_predict(file, Task("node", "binary", 1, "rocauc"))


def test_opened_by_path(file: Path, root: Path) -> None:
    dataset = load_dataset(file, root=root, targets="active")
    assert_same(dataset, read_molecules(file, targets="active", root=root))


def test_skipped_file_of_nothing_has_its_header(tmp_path: Path) -> None:
    write_skipped([], tmp_path / "skipped.csv")
    assert (tmp_path / "skipped.csv").read_text().strip() == "row,molecule,reason"
    with pytest.raises(InputError, match=r"none/skipped\.csv: the folder for the list of skipped rows does not exist"):
        write_skipped([], tmp_path / "none" / "skipped.csv")
