"""Columns of a user's file: text and numbers out of any format, and one clear error for every damage."""

import datetime
import gzip
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

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
    with pytest.raises(
        InputError, match=r"no column 'z' for the SMILES; the columns are 'n', 't'; name another with --smiles-column$"
    ):
        columns(tmp_path / "a.csv", "n,t\n1,2\n").require(["n", "z"], "SMILES")


def test_nested_parquet_column(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"n": [[1], [2, 3]]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"column 'n' has type list.*; expected text"):
        read_columns(tmp_path / "a.parquet").text("n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "the file is empty; expected a header"),
        ("a.csv", b"a,b\n1,2\n\n3\n", "row 2 has 1 columns; expected 2"),
        ("a.csv", b"a,b\n1,2,3\n", "row 1 has 3 columns; expected 2"),
        ("a.csv", b"a,a\n1,2\n", "two columns are called 'a'"),
        ("a.csv", b"a\n\xe9\n", "row 1 has the byte 0xe9, which is not UTF-8"),
        ("a.csv", b"a,b\n1,2\n\xe9\n", "row 2 has the byte 0xe9, which is not UTF-8"),
        ("a.csv", b"\xe9\n1\n", "the header has the byte 0xe9, which is not UTF-8"),
        ("a.csv", b"\n\r\n", "the file is empty; expected a header"),
        ("a.csv", b"\xef\xbb\xbf\n", "the file is empty; expected a header"),
        ("a.csv", b"a,b\n\n1,2\n3,\0\n", "row 2 has a NUL byte"),
        ("a.csv", "a\n1\n".encode("utf-16"), "is text in UTF-16; save it as CSV UTF-8"),
        ("a.csv", b'a,b\n1,2\n3,"x\n4,5\n', "row 2 has a quote that is never closed"),
        ("a.csv", b'a,b\n1,2\n3,"x\n4,5\n6,"y\n', "row 2 has text after a closing quote"),
        ("a.csv", b'"a\n1\n', "the header has a quote that is never closed"),
        ("a.csv.gz", b"a\n1\n", "Not a gzipped file"),
        ("a.csv.gz", gzip.compress(b"a\n" + bytes(range(48, 58)) * 999, mtime=0)[:-9], "damaged or cut short"),
        ("a.parquet", b"PAR1", "cannot be read"),
        ("a.txt", b"a\n1\n", "expected a name that ends in .csv, .csv.gz, .tsv, .tsv.gz, .parquet"),
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


def test_a_folder_a_pipe_and_a_loop_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for name, message in (
        ("folder.csv", "is a folder; expected a file"),
        ("pipe.csv", "is a pipe or a device; expected a file"),
        ("loop.csv", r"cannot be read \(Too many levels of symbolic links\)"),
        ("a\0.csv", "there is no such file"),
        ("x" * 300 + ".csv", r"cannot be read \(File name too long\)"),
    ):
        with pytest.raises(InputError, match=message):
            read_columns(tmp_path / name)


def test_small_and_large_exponents(tmp_path: Path) -> None:
    table = columns(tmp_path / "a.csv", "n\n1e-120\n1E+120\n1e-999\n2.5e0001\n")
    np.testing.assert_array_equal(table.numbers("n"), [1e-120, 1e120, 0, 25])


@pytest.mark.parametrize("cell", ["\u00b2", "\u0663", "\uff11", "1\u0660", "\u2460", "1e", "e5", "9" * 400])
def test_digits_that_are_none(cell: str, tmp_path: Path) -> None:
    table = columns(tmp_path / "a.csv", f"n\n1\n{cell}\n")
    assert table.not_numbers("n").tolist() == [1]


def test_integers_beyond_64_bits(tmp_path: Path) -> None:
    table = columns(tmp_path / "a.csv", f"n\n{2**70}\n{-(2**70)}\n")
    np.testing.assert_array_equal(table.numbers("n"), [2.0**70, -(2.0**70)])
    assert table.text("n").to_pylist() == [str(2**70), str(-(2**70))]
    pyarrow.parquet.write_table(pa.table({"n": pa.array([2**64 - 1, 2**53 + 1], pa.uint64())}), tmp_path / "a.parquet")
    table = read_columns(tmp_path / "a.parquet")
    np.testing.assert_array_equal(table.numbers("n"), [2.0**64, 2.0**53])
    assert table.text("n").to_pylist() == [str(2**64 - 1), str(2**53 + 1)]


def test_parquet_types(tmp_path: Path) -> None:
    day = datetime.date(2020, 1, 2)
    kinds = {
        "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
        "decimal": pa.array([Decimal("1.50"), None, Decimal("-2")]),
        "date": pa.array([day, None, day]),
        "bool": pa.array([True, None, False]),
        "half": pa.array(np.array([1.5, 2, np.nan], np.float16)),
        "nothing": pa.nulls(3),
    }
    pyarrow.parquet.write_table(pa.table(kinds), tmp_path / "a.parquet")
    table = read_columns(tmp_path / "a.parquet")
    assert table.text("dictionary").to_pylist() == ["a", None, "b"]
    np.testing.assert_array_equal(table.numbers("decimal"), [1.5, np.nan, -2])
    assert table.text("date").to_pylist() == ["2020-01-02", None, "2020-01-02"]
    assert table.text("bool").to_pylist() == ["true", None, "false"]
    np.testing.assert_array_equal(table.numbers("half"), [1.5, 2, np.nan])
    assert table.text("nothing").to_pylist() == [None] * 3


def test_text_of_parquet_that_is_not_utf8(tmp_path: Path) -> None:
    raw = pa.array([b"good", b"\xff\xfe"])
    pyarrow.parquet.write_table(
        pa.table({"t": pa.StringArray.from_buffers(2, *raw.buffers()[1:])}), tmp_path / "a.parquet"
    )
    with pytest.raises(InputError, match="column 't' is damaged: Invalid UTF8 sequence at string index 1"):
        read_columns(tmp_path / "a.parquet").text("t")


class CountedTable:
    """A table that counts how often its names are asked for."""

    def __init__(self, table: Any) -> None:
        self.table, self.num_rows, self.asked = table, table.num_rows, 0

    @property
    def column_names(self) -> list[str]:
        self.asked += 1
        return list(self.table.column_names)

    def column(self, place: int) -> Any:
        return self.table.column(place)


def test_the_names_of_a_wide_table_are_looked_at_once(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(2_000)]
    table = columns(tmp_path / "a.csv", ",".join(names) + "\n" + ",".join("1" * len(names)) + "\n")
    wide = Columns(table.path, CountedTable(table.table))
    wide.require(names, "features")
    assert all(wide.is_numeric(name) for name in names)
    assert wide.table.asked == 1


def test_a_huge_cell(tmp_path: Path) -> None:
    table = columns(tmp_path / "a.csv", "t,u\n" + "x" * 3_000_000 + ",1\n")
    assert len(table.text("t")[0].as_py()) == 3_000_000


def test_a_file_name_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "\udcff.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"\\udcff\.csv': the name is not UTF-8") as caught:
        read_columns(tmp_path / "\udcff.csv")
    assert str(caught.value).isascii()


def test_messages_stay_short(tmp_path: Path) -> None:
    table = columns(tmp_path / "a.csv", ",".join(f"c{i}" for i in range(500)) + "\n" + "x" * 9_000 + "," * 499 + "\n")
    with pytest.raises(InputError, match=r"expected a number$") as caught:
        table.numbers("c0")
    assert len(str(caught.value)) < len(str(tmp_path)) + 300
    with pytest.raises(InputError, match=r"'c19' and 480 more$"):
        table.require(["z"], "features")


@pytest.mark.parametrize(
    ("name", "delimiter", "between"),
    [
        ("a.csv", None, ";"),
        ("a.csv", None, "\t"),
        ("a.tsv", None, "\t"),
        ("a.csv", "|", "|"),
        ("a.csv", "semicolon", ";"),
    ],
)
def test_what_stands_between_cells(name: str, delimiter: str | None, between: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(between.join(['"n, 1"', " t "]) + "\n" + between.join(["1", '"x, y"']) + "\n")
    table = read_columns(path, delimiter)
    assert (table.names, table.delimiter) == (("n, 1", "t"), between)
    assert table.text("t").to_pylist() == ["x, y"]
    path.write_text(between.join("ab") + "\n" + between.join("12") + "\n" + between.join('3"') + "\n")
    with pytest.raises(InputError, match="row 2 has a quote that is never closed"):
        read_columns(path, delimiter)


def test_a_comma_in_the_header_comes_first(tmp_path: Path) -> None:
    assert columns(tmp_path / "a.csv", "a;b,c\n1;2,3\n").names == ("a;b", "c")


@pytest.mark.parametrize("delimiter", ["", "ab", "a", '"', "\n", "é"])
def test_a_delimiter_that_is_none(delimiter: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="expected comma, semicolon, tab or another single character"):
        read_columns(tmp_path / "a.csv", delimiter)


def test_blanks_around_names(tmp_path: Path) -> None:
    table = columns(tmp_path / "a.csv", " n ,t\n1,x\n")
    assert table.names == ("n", "t")
    assert table.text("n").to_pylist() == table.text(" n ").to_pylist() == ["1"]
    with pytest.raises(InputError, match="two columns are called 'n'"):
        columns(tmp_path / "b.csv", "n ,n\n1,2\n")


def test_the_first_and_the_last_of_ten_thousand_columns_are_compared(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(10_000)]
    row = ",".join(["1"] * len(names))
    assert columns(tmp_path / "a.csv", f"{','.join(names)}\n{row}\n").names == tuple(names)
    with pytest.raises(InputError, match="two columns are called 'c0'"):
        columns(tmp_path / "b.csv", f"{','.join([*names[:-1], 'c0'])}\n{row}\n")
