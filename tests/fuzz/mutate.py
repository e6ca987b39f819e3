"""Damage of bytes, text, tables and trees of values, drawn from a generator."""

import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

CELLS = (
    *("", " ", "NA", "nan", "inf", "-inf", "1e400", "1e-400", "1e-120", "-0", "-1", "0", "1", "1.5", "1_000", "0x10"),
    *(
        "\u00b2",
        "\u0663",
        "\uff11",
        "\u2460",
        str(2**24 + 1),
        str(2**31),
        str(2**53 + 1),
        str(2**63),
        str(2**64),
        "9" * 400,
    ),
    *("true", "None", "null", "train", "test", "VALID", "split", "id", "smiles", "y", "=1+1", "@x", "-", "+"),
    *("\0", "\ufeff", "\u202e", "\x1b[31m", "\x7f", "\r", "\n", "\t", '"', '""', "'", ",", ";", "\\", "%s%n", "$(x)"),
    *(
        "../../../x",
        "/dev/zero",
        "/etc/passwd",
        "~root",
        "~nobody-here/x",
        "a" * 3_000,
        "C" * 1_500,
        "C1CC1" * 300,
        "$$$$",
    ),
    *("C1CC", "c1cccc1", "[H]", "C.C", "[U]", "CC |$a;b$|", "C%99C%99", "C(" * 500, "[CH999999999]", "\U0001f9ea"),
)
"""What stands in a cell, a name or a line."""

YAML_VALUES = (
    *("null", "true", "false", "0", "1", "-1", "2", "1.5", "-0.0", ".nan", ".inf", "-.inf", "1e400", "1e-400", "1e9"),
    *("1000000000", str(2**31), str(2**63), str(2**64), "9" * 400, "9" * 5_000, "0x7fffffffffffffff", "1_000", "0o17"),
    *(
        "''",
        "x",
        "'\\0'",
        '"\\0"',
        '"\\ud800"',
        '"\\x1b[31m"',
        "\u00b2",
        "\u0663",
        "2020-01-01",
        "12:30:45",
        "0.1e",
        "~",
        "!!binary aGk=",
    ),
    *("[]", "{}", "[[]]", "[1, 2]", "{a: 1}", "{name: x}", "[{}]", "[null]", "{1: 2}", "{[1]: 2}", "{null: null}"),
    *("'" + "a" * 5_000 + "'", "../../x", "/dev/zero", "/dev/stdin", "~nobody-here", "auto", "none", "max", "softmax"),
    *(
        "&a [*a]",
        "*a",
        "!!python/object/apply:os.system [x]",
        "!!set {a}",
        "[" * 2_000,
        "{a: " * 500,
        "[" * 5_000 + "]" * 5_000,
        "[" * 150 + "]" * 150,
        "{a: " * 100 + "}" * 100,
        "- -",
        "a: b: c",
        "%",
        "@",
        "`",
    ),
    *("&a [x,x,x,x,x,x,x,x,x]", "[1, .nan]", "[0.8, 0.1, 0.1]", "[-1, 1, 1]", "'train'", "bf16", "32", "dense", "res+"),
)
"""What stands behind ``--set key=``."""

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        0.5,
        -0.0,
        float("inf"),
        float("nan"),
        1e308,
        2**31,
        2**53 + 1,
        2**63,
        2**64,
        10**400,
    ),
    *("", "x", "\0", "\ud800", "\x1b[31m", "\u00b2", "a" * 5_000, "../../../x", "/dev/zero", "train", "1"),
    *([], {}, [[]], [None], ["x"], [1, 2, 3], {"": None}, {"a": {"b": []}}, [{}], ["x", "x"]),
)
"""What stands in JSON."""

_BYTES = (
    b"\0",
    b"\xff",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\n",
    b"\r",
    b'"',
    b",",
    b"\x1f\x8b",
    b"PAR1",
)
_NUMBERS = (0, 1, -1, 127, 128, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, -(2**31), 2**63 - 1, -(2**63))


def damage_bytes(random: Random, content: bytes) -> bytes:
    """A few small damages anywhere in the content."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        random.choice(_DAMAGES)(random, data)
    return bytes(data)


def _flip(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _overwrite(random: Random, data: bytearray) -> None:
    place = random.randint(0, len(data))
    data[place : place + random.randint(1, 8)] = random.randbytes(random.randint(1, 8))


def _cut(random: Random, data: bytearray) -> None:
    del data[random.randint(0, len(data)) :]


def _remove(random: Random, data: bytearray) -> None:
    place = random.randint(0, len(data))
    del data[place : place + random.choice((1, 2, 16, 200))]


def _repeat(random: Random, data: bytearray) -> None:
    place = random.randint(0, len(data))
    data[place:place] = data[place : place + random.choice((1, 16, 200))] * random.choice((1, 2, 50))


def _insert(random: Random, data: bytearray) -> None:
    place = random.randint(0, len(data))
    data[place:place] = random.choice((*_BYTES, random.choice(CELLS).encode()))


def _number(random: Random, data: bytearray) -> None:
    form = random.choice("bhiq")
    size = struct.calcsize(f"<{form}")
    if len(data) > size:
        place = random.randrange(len(data) - size)
        value = random.choice(_NUMBERS) & ((1 << 8 * size) - 1)
        data[place : place + size] = value.to_bytes(size, "little")


def _empty(random: Random, data: bytearray) -> None:
    data[:] = random.choice((b"", b"\n", b"\xef\xbb\xbf", bytes(data[:20])))


_DAMAGES: tuple[Callable[[Random, bytearray], None], ...] = (
    *(_flip, _flip, _overwrite, _cut, _remove, _repeat, _insert, _insert, _number, _number, _empty),
)


def damage_rows(random: Random, rows: list[list[str]]) -> list[list[str]]:
    """A table, its header first, with hostile cells, names, rows or columns."""
    rows = [list(row) for row in rows]
    for _ in range(random.choice((1, 1, 2, 5))):
        row = random.choice(rows)
        column = random.randrange(len(rows[0])) if rows[0] else 0
        match random.randrange(9):
            case 0:
                rows[0][column : column + 1] = [random.choice(CELLS)]
            case 1:
                for row in rows[1:]:
                    row[column : column + 1] = [random.choice(CELLS)]
            case 2:
                value = random.choice(CELLS)
                for row in rows[1:]:
                    row[column : column + 1] = [value]
            case 3:
                row[column : column + 1] = []
            case 4:
                rows.insert(random.randint(0, len(rows)), list(row))
            case 5:
                rows[1:] = rows[1 : random.randint(1, 4)]
            case 6:
                for row in rows:
                    row.append(row[min(column, len(row) - 1)] if row else "")
            case _:
                row[column : column + 1] = [random.choice(CELLS)]
    return rows


def csv_text(rows: list[list[str]], *, quoted: bool) -> bytes:
    """The rows as CSV, with cells quoted as they should be, or as they are."""

    def cell(text: str) -> str:
        wants = quoted and any(mark in text for mark in ',"\r\n')
        return '"' + text.replace('"', '""') + '"' if wants else text

    return "".join(",".join(map(cell, row)) + "\n" for row in rows).encode(errors="surrogatepass")


def damage_tree(random: Random, tree: Any) -> Any:
    """JSON-like values with one of them, or one of the keys, put out of order."""
    places: list[tuple[Any, Any]] = []
    _walk(tree := json.loads(json.dumps(tree)), places)
    if not places:
        return random.choice(VALUES)
    for _ in range(random.choice((1, 1, 1, 2))):
        inside, key = random.choice(places)
        match random.randrange(6):
            case 0 if isinstance(inside, dict):
                inside.pop(key, None)
            case 1 if isinstance(inside, dict):
                inside[random.choice(("x", "", "\0", "root", "skipped_file", "name"))] = random.choice(VALUES)
            case _:
                inside[key] = random.choice(VALUES)
    return tree


def _walk(tree: Any, places: list[tuple[Any, Any]]) -> None:
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        places.append((tree, key))
        _walk(value, places)
