"""Tables lose nothing on a narrow terminal, and are not broken at all in a pipe."""

import re

import pytest

from deepergcn.cli.table import print_table

COLUMNS = ("name", "what it is", "size")
ROWS = [("one-long-name", "words that say what it is", "1,234,567"), ("b", "", "")]


def test_nothing_is_cut_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes rich take the output for a terminal
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    print_table(COLUMNS, ROWS, right=["size"])
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert all(len(line) <= 40 for line in out.splitlines())
    assert {"one-long-name", "1,234,567", *ROWS[0][1].split()} <= set(out.split())


def test_a_row_is_one_line_in_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    print_table(COLUMNS, ROWS, right=["size"])
    header, _, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "what", "it", "is", "size"]
    assert first.split() == " ".join(ROWS[0]).split()
    assert second.split() == ["b"]
