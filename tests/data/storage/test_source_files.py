"""Files that a user names: a few bytes that become many are refused before they fill the memory."""

import gzip
from pathlib import Path

import pytest

from deepergcn.data.storage.source_files import read_bytes
from deepergcn.errors import InputError


@pytest.mark.parametrize("name", ["a.csv.gz", "a.sdf.gz", "a.csv"])
def test_content_beyond_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = tmp_path / name
    content = bytes(100_000_000)
    path.write_bytes(gzip.compress(content, 1, mtime=0) if name.endswith(".gz") else content)
    assert read_bytes(path) == content
    monkeypatch.setattr("deepergcn.data.storage.memory.physical_memory", lambda: 100_000_000)
    with pytest.raises(InputError, match=rf"{name}: 0\.\d GB of content or more: needs .* of memory"):
        read_bytes(path)
