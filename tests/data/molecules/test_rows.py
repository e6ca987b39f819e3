"""A file in parts has the same rows as the whole file, and the same errors, whatever the blocks are."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from deepergcn.data.molecules.rows import open_rows, stream_rows
from deepergcn.data.molecules.sdf import read_sdf
from deepergcn.data.tables import columns
from deepergcn.data.tables.csv_file import read_csv, read_csv_blocks
from deepergcn.errors import InputError

NOTES = ("plain", '"a, b"', '"x""y"', '"two\nlines"', "", '5 in"ch')


def table(count: int = 40) -> str:
    rows = [f"m{i},{'C' * (i % 5 + 1)},{NOTES[i * 7 % len(NOTES)]}" for i in range(count)]
    return "\n".join(["id,smiles,note", *rows]) + "\n"


@pytest.mark.parametrize("line", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_blocks_of_a_csv_file_are_the_file(tmp_path: Path, line: str, size: int) -> None:
    path = tmp_path / "m.csv"
    path.write_text("\ufeff" + table().replace("\n", line), newline="", encoding="utf-8")
    blocks = list(read_csv_blocks(path, size=size))
    assert pa.concat_tables(blocks).to_pydict() == read_csv(path)[0].to_pydict()
    assert len(blocks) == 1 or size < 1 << 20


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("m40,C,a,b\n", "row 41 has 4 columns; expected 3"),
        ('m40,C,"a\n', "row 41 has a quote that is never closed"),
        ('m40,C,"a"b\n', "row 41 has text after a closing quote"),
        ("m40,C,\0\n", "row 41 has a NUL byte"),
    ],
)
def test_rows_are_counted_over_blocks(tmp_path: Path, last: str, message: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(table() + last)
    with pytest.raises(InputError, match=message):
        list(read_csv_blocks(path, size=50))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_of_smiles_are_counted_over_pieces(tmp_path: Path, end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepergcn.data.molecules.smi._PIECE", 3)
    path = tmp_path / "m.smi"
    path.write_bytes(end.join([b"# comment", b"C a", b"", "CC \u00e9".encode(), b"CCC \xe9", b"N"]))
    with pytest.raises(
        InputError, match=r"m\.smi: line 5 has the byte 0xe9, which is not UTF-8; expected text in UTF-8"
    ):
        open_rows(path, None, None, None)


SDF = "".join(f"t{i}\n\n\n  0  0\nM  END\n> <p{i % 2}>\n{i}\n\n$$$$\n" for i in range(7))


def write(folder: Path, name: str) -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(read_csv(write(folder, "source.csv"))[0], path)
        return path
    content = (SDF if ".sdf" in name else "C a\nCC\n\nCCC b\nN\nO c\nS\nP\n" if ".smi" in name else table(7)).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["m.csv", "m.csv.gz", "m.tsv", "m.parquet", "m.smi", "m.smi.gz", "m.sdf", "m.sdf.gz"])
def test_every_kind_of_file(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_BATCH", 2)
    monkeypatch.setattr("deepergcn.data.molecules.sdf._PIECE", 5)
    monkeypatch.setattr("deepergcn.data.molecules.smi._PIECE", 3)
    delimiter = "," if name == "m.tsv" else None
    path = write(tmp_path, name)
    whole, parts = open_rows(path, None, None, delimiter), list(stream_rows(path, 3, None, None, delimiter))
    assert [len(part.texts) for part in parts] == [3, 3, 1]
    assert [text for part in parts for text in part.texts] == whole.texts
    assert [name for part in parts for name in part.names] == whole.names
    assert pa.concat_tables([part.table.table for part in parts]).to_pydict() == whole.table.table.to_pydict()
    assert [len(part.texts) for part in stream_rows(path, 7, None, None, delimiter)] == [7]


def test_properties_are_those_of_all_records(tmp_path: Path) -> None:
    parts = list(stream_rows(write(tmp_path, "m.sdf"), 1, None, None))
    assert {part.table.names for part in parts} == {("_Name", "p0", "p1")}
    assert len(read_sdf(tmp_path / "m.sdf")[0]) == 7


def test_what_cannot_be_streamed(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("smiles\n")
    with pytest.raises(InputError, match=r"m\.csv: the table has no rows"):
        list(stream_rows(path, 5, None, None))
    with pytest.raises(InputError, match="rows is 0; expected at least 1"):
        list(stream_rows(path, 0, None, None))
    path.write_text("")
    with pytest.raises(InputError, match="the file is empty; expected a header"):
        list(stream_rows(path, 5, None, None))
    path.write_text("a,a\n1,2\n")
    with pytest.raises(InputError, match="two columns are called 'a'"):
        list(stream_rows(path, 5, None, None))
