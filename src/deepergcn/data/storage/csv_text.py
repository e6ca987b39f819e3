"""CSV text in which lone carriage returns are quoted, which Python's writer does not do before 3.13."""

from collections.abc import Iterable

_QUOTED = frozenset(',"\r\n')


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """The rows as CSV, each followed by a line feed; None is an empty cell."""
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def header_length(content: bytes) -> int:
    """The bytes of the first row of a CSV file, in which a cell may have line breaks."""
    quoted = False
    for place, byte in enumerate(content):
        if byte == ord('"'):
            quoted = not quoted
        elif byte == ord("\n") and not quoted:
            return place + 1
    return len(content)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return text if _QUOTED.isdisjoint(text) else '"' + text.replace('"', '""') + '"'
