"""Digests follow names and contents."""

from pathlib import Path

import pytest

from deepergcn.data.storage.digest import source_digest, text_digest
from deepergcn.errors import InputError


def test_source_digest_follows_names_and_contents(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")
    first = source_digest([one, two], tmp_path)
    assert source_digest([two, one], tmp_path) == first
    one.write_text("3")
    assert source_digest([one, two], tmp_path) != first
    one.write_text("1")
    one.rename(tmp_path / "other")
    assert source_digest([tmp_path / "other", two], tmp_path) != first


def test_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: there is no such file"):
        source_digest([tmp_path / "none"], tmp_path)


def test_text_digest_follows_values_not_their_order() -> None:
    assert text_digest({"a": 1, "b": (2,)}) == text_digest({"b": [2], "a": 1})
    assert text_digest({"a": 1}) != text_digest({"a": 2})
