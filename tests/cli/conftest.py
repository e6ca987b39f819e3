"""The program with a folder of its own for each test."""

from pathlib import Path

import pytest

from tests.cli.program import Program


@pytest.fixture
def deepergcn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """The program, run in this process, in the folder of the test and with data beside it."""
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return Program(monkeypatch, capsys)
