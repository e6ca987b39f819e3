"""The garbage collector rests while a command loads, and works again afterwards."""

import gc

import pytest

from deepergcn.cli import loading as loading_module
from deepergcn.cli.loading import loading
from deepergcn.waiting import LINE
from tests.cli.program import Program


def test_it_rests_and_works_again() -> None:
    frozen = gc.get_freeze_count()
    with loading():
        assert not gc.isenabled()
        with loading():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == frozen  # this process does more than the program


def test_it_works_again_after_an_error() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError
    assert gc.isenabled()


def test_it_works_again_after_a_command_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = Program(monkeypatch, capsys)("predict", "no-such-run", "no.csv", "-o", "out.csv")
    assert answer.code == 2
    assert gc.isenabled()


def test_training_says_that_threads_wait_asleep(deepergcn: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading_module._Process, "waits_asleep", True)
    assert deepergcn("train", "--data", "nowhere").out == f"{LINE}\n"
