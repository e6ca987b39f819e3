"""The program's own options, in fresh processes as a user starts it."""

import subprocess
import sys
from pathlib import Path

import pytest

from deepergcn.__main__ import main as start
from deepergcn.cli import loading
from deepergcn.cli import main as program
from deepergcn.version import __version__
from tests.cli.program import Program


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", "from deepergcn.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_version() -> None:
    answer = run("--version")
    assert answer.returncode == 0
    assert answer.stdout.strip() == f"deepergcn {__version__}"


def test_help_names_the_program() -> None:
    answer = run("--help")
    assert answer.returncode == 0
    assert "Train very deep graph networks" in answer.stdout


@pytest.mark.parametrize("command", [(), ("train",), ("datasets",), ("datasets", "get")])
def test_help_shows_no_type_behind_a_flag(deepergcn: Program, command: tuple[str, ...]) -> None:
    answer = deepergcn(*command, "--help")
    assert answer.code == 0
    assert "--help" in answer.out
    assert "<bool>" not in answer.out


def test_unknown_command_is_one_clear_error() -> None:
    answer = run("fly")
    assert answer.returncode == 2
    assert "No such command 'fly'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_text_in_the_place_of_a_command_is_shortened(deepergcn: Program) -> None:
    error = deepergcn("a" * 3_000).err
    assert error.startswith("error: there is no command 'aaa")
    assert error.endswith("(3002 characters); expected one that deepergcn --help lists\n")
    assert len(error) < 300


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from deepergcn.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'numba', 'rdkit', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    answer = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed")
def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os; os.rmdir({str(gone)!r}); from deepergcn.cli.main import main; main()"
    answer = subprocess.run(
        [sys.executable, "-c", code, "train"], cwd=gone, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: the current folder cannot be read (No such file or directory); ")
    assert answer.stderr.count("\n") == 1


def test_an_interruption_outside_a_command_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "main", interrupted)
    monkeypatch.setattr(loading, "own_process", lambda: None)
    with pytest.raises(SystemExit) as left:
        start()
    assert left.value.code == 130
    assert capsys.readouterr() == ("", "")
