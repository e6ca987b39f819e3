"""Where data lives."""

import sys
import tempfile
from pathlib import Path

import pytest

from deepergcn import user_cache
from deepergcn.data.storage.folders import data_root
from deepergcn.errors import InputError


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


def _no_entry(number: int) -> None:
    raise KeyError(f"getpwuid(): uid not found: {number}")


@pytest.mark.skipif(sys.platform == "win32", reason="the password file")
def test_without_a_home_it_is_a_private_folder_among_the_temporary_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DEEPERGCN_DATA", raising=False)
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", _no_entry)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    user_cache._temporary_folder.cache_clear()
    try:
        found = data_root()
        assert found.parent == tmp_path
        assert user_cache.is_private(found)
        found.chmod(0o770)
        user_cache._temporary_folder.cache_clear()
        other = data_root()
        assert other != found
        assert user_cache.is_private(other)
    finally:
        user_cache._temporary_folder.cache_clear()


@pytest.mark.parametrize("path", ["a\0b.csv", "\ud83e\uddea/a.csv"])
def test_a_text_that_no_path_has_is_refused(path: str) -> None:
    with pytest.raises(InputError, match=r"^'.*': cannot be the path of a file \(") as caught:
        user_cache.real_path(path)
    assert str(caught.value).isascii()
