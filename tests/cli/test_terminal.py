"""What is printed: harmless on any terminal, and no reason to stop where it cannot be printed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deepergcn.cli.main import main
from deepergcn.cli.terminal import plain, say
from deepergcn.printable import clean
from tests.cli.program import Program
from tests.training.small import molecule_settings, molecules, start

LINES = """
from deepergcn.cli.terminal import prepare_streams, say
prepare_streams()
for _ in range(999):
    say(str(1) * 999)
say(str(2), err=True)
"""


def test_control_characters_are_written_out() -> None:
    assert clean("a\x1b[31m\r\nb\x07\x9b\u202e c \udc80 é±") == "a\\x1b[31m\\r\\nb\\x07\\x9b\\u202e c \\udc80 é±"


def test_control_characters_of_a_file_never_reach_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    deepergcn = Program(monkeypatch, capsys)
    Path("evil\x1b[2J.csv").write_text("smiles,\x1b]0;owned\x07\nC,\x1b[31m\n")
    for arguments in (
        ["--molecules", "evil\x1b[2J.csv", "--target", "none"],
        ["--molecules", "evil\x1b[2J.csv", "--target", "\x1b]0;owned\x07"],
        ["--set", "model.norm=\x1b[31m"],
        ["\x1b[31m"],
    ):
        answer = deepergcn("train", *arguments)
        assert answer.code == 2
        assert answer.err.startswith("error: ")
        assert answer.err.rstrip("\n").isprintable()
        assert answer.out == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_text_can_be_printed_in_every_encoding(encoding: str) -> None:
    program = "from deepergcn.cli.terminal import *; prepare_streams(); say('0.5 ± 0.1 β é'); say('é', err=True)"
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    answer = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=True)
    shown = answer.stdout.decode(encoding)
    expected = {"ascii": "0.5 +- 0.1 beta \\xe9\n", "latin-1": "0.5 +- 0.1 beta é\n", "utf-8": "0.5 ± 0.1 β é\n"}
    assert shown == expected[encoding]


def test_plain_leaves_what_the_output_has() -> None:
    assert plain("0.5 +- é") == "0.5 +- é"


@pytest.mark.skipif(sys.platform == "win32", reason="/dev/full and closed descriptors")
@pytest.mark.parametrize(
    ("redirection", "warned"), [("| head -n 1", False), (">/dev/full", True), (">&-", False), (">/dev/null", False)]
)
def test_output_that_cannot_be_written_does_not_stop_the_program(redirection: str, warned: bool) -> None:
    command = f"{{ '{sys.executable}' -c '{LINES}'; echo code $? >&2; }} {redirection}"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    lines = answer.stderr.splitlines()
    assert lines[-2:] == ["2", "code 0"]
    assert len(lines) == 2 + warned
    assert ("standard output cannot be written" in lines[0]) == warned


def train_on_a_full_device(errors: Path, arguments: list[str]) -> None:
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
    sys.argv = ["deepergcn", "train", *arguments]
    main()


@pytest.mark.skipif(sys.platform == "win32", reason="/dev/full")
def test_training_goes_on_on_a_full_device(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=2")
    words = [word for setting in settings for word in ("--set", setting)]
    process = start(train_on_a_full_device, tmp_path / "errors", ["--out", str(tmp_path / "run"), *words])
    process.join()
    errors = (tmp_path / "errors").read_text()
    assert process.exitcode == 0, errors
    assert (tmp_path / "run" / "summary.json").is_file()
    assert errors.count("\n") == 1
    assert "standard output cannot be written" in errors


def test_nothing_is_said_on_a_stream_that_is_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stream = (tmp_path / "out").open("w")
    stream.close()
    monkeypatch.setattr(sys, "stdout", stream)
    say("nobody hears this")
    say("nor this")
    sys.stdout.close()


def test_an_error_that_quotes_a_long_text_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = Program(monkeypatch, capsys)("train", "--set", "speed" * 2_000)
    assert answer.code == 2
    assert answer.err.startswith("error: --set ")
    assert answer.err.count("\n") == 1
    assert len(answer.err) < 3_100
