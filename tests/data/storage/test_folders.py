"""Where data lives."""

import os
import sys
from pathlib import Path

import pytest

from deepergcn.data.storage.folders import data_root, remove_abandoned


def test_given_root_comes_first_then_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "variable"))
    assert data_root(tmp_path) == tmp_path
    assert data_root() == tmp_path / "variable"


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert data_root("~/data") == tmp_path / "data"


@pytest.mark.skipif(sys.platform != "linux", reason="the convention of Linux")
def test_cache_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DEEPERGCN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_root() == tmp_path / "deepergcn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_root() == Path.home() / ".cache" / "deepergcn"


def test_only_what_is_old_is_removed(tmp_path: Path) -> None:
    old, new, other = tmp_path / "old.part", tmp_path / "new.part", tmp_path / "old.zip"
    for path in (old, new, other):
        path.write_text("x")
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    remove_abandoned(tmp_path, "*.part")
    assert sorted(tmp_path.iterdir()) == sorted((new, other))
