"""The program, run in this process."""

import sys
from dataclasses import dataclass

import pytest

from deepergcn.cli.main import main


@dataclass(frozen=True)
class Answer:
    """How the program left, and what it said."""

    code: int
    out: str
    err: str


class Program:
    """Calls ``deepergcn`` with arguments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Answer:
        self.monkeypatch.setattr(sys, "argv", ["deepergcn", *map(str, arguments)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, err = self.capsys.readouterr()
        return Answer(int(left.value.code or 0), out, err)
