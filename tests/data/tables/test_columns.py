"""Columns of a user's file: text and numbers out of any format, and one clear error for every damage."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from deepergcn.data.tables.columns import Columns, read_columns
from deepergcn.errors import InputError


def columns(path: Path, text: str) -> Columns:
    path.write_text(text, encoding="utf-8")
    return read_columns(path)


def test_csv(tmp_path: Path) -> None:
    table = columns(tmp_path / "a.csv", 'n,t\n 1 , x\nNA,"y, ""z""\nw"\n\n-2.5e3,\n')
    assert table.names == ("n", "t")
    assert len(table) == 3
    assert table.text("t").to_pylist() == ["x", 'y, "z"\nw', None]
    np.testing.assert_array_equal(table.numbers("n"), [1, np.nan, -2500])


def test_gzip_and_parquet_are_the_same(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("n,t\n1,x\n,y\n")
    table = pa.table({"n": [1.0, float("nan")], "t": ["x", "y"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    for name in ("a.csv.gz", "a.parquet"):
        found = read_columns(tmp_path / name)
        assert found.text("n").to_pylist() == ["1", None]
        assert found.text("t").to_pylist() == ["x", "y"]
        np.testing.assert_array_equal(found.numbers("n"), [1, np.nan])


def test_text_that_looks_like_numbers_stays(tmp_path: Path) -> None:
    table = columns(tmp_path / "a.csv", "id\n007\n1.0\nNA\n")
    assert table.text("id").to_pylist() == ["007", "1.0", "NA"]


@pytest.mark.parametrize("cell", ["x", "1,5", "0x10", "inf", "1 2", "1_000", "1e400"])
def test_not_a_number_names_the_row(cell: str, tmp_path: Path) -> None:
    table = columns(tmp_path / "a.csv", f'n,t\n1,x\n"{cell}",x\ny,x\n')
    assert not table.is_numeric("n")
    assert table.not_numbers("n").tolist() == [1, 2]
    with pytest.raises(InputError, match=rf"a.csv: row 2: column 'n' is '{cell}'; expected a number"):
        table.numbers("n")


def test_infinite_number_of_parquet(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"n": [1.0, float("-inf")]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="row 2: column 'n' is '-inf'; expected a number"):
        read_columns(tmp_path / "a.parquet").numbers("n")


def test_missing_column_lists_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no column 'z' for the SMILES; the columns are 'n', 't'$"):
        columns(tmp_path / "a.csv", "n,t\n1,2\n").require(["n", "z"], "SMILES")


def test_nested_parquet_column(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"n": [[1], [2, 3]]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"column 'n' has type list.*; expected text"):
        read_columns(tmp_path / "a.parquet").text("n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "cannot be read: Empty CSV file"),
        ("a.csv", b"a,b\n1,2\n\n3\n", "row 2 has 1 columns; expected 2"),
        ("a.csv", b"a,b\n1,2,3\n", "row 1 has 3 columns; expected 2"),
        ("a.csv", b"a,a\n1,2\n", "two columns are called 'a'"),
        ("a.csv", b"a\n\xe9\n", "invalid UTF8"),
        ("a.csv", b"\xe9\n1\n", "utf-8"),
        ("a.csv.gz", b"a\n1\n", "incorrect header check"),
        ("a.csv.gz", gzip.compress(b"a\n" + bytes(range(48, 58)) * 999, mtime=0)[:-9], "Truncated"),
        ("a.parquet", b"PAR1", "cannot be read"),
        ("a.txt", b"a\n1\n", "expected a name that ends in .csv, .csv.gz, .parquet"),
    ],
)
def test_damage_is_named_and_mended(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_columns(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert columns(tmp_path / "a.csv", "a\n1\n").names == ("a",)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv: there is no such file"):
        read_columns(tmp_path / "a.csv")
