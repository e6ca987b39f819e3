"""Every script in ``examples/`` runs, and prints what its docstring says."""

import ast
import runpy
from pathlib import Path
from textwrap import dedent

import pytest

from tests.repository import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert told is not None
    expected = dedent(told.partition("It prints::\n")[2].strip("\n"))
    assert expected
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == expected.splitlines()
