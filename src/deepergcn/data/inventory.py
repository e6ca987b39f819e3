"""The known datasets, and which of them are on this machine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deepergcn.data.ogb.known import KNOWN
from deepergcn.data.registry import SOURCES

State = Literal["on disk", "cache only", "not on disk", "built in"]
"""Of a dataset whose raw files were removed, or read from another folder, there is the cache only."""


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset: whether it is on this machine, its folder, and the sizes of its files and cache in bytes."""

    name: str
    summary: str
    state: State
    folder: Path | None
    raw_bytes: int
    cache_bytes: int


def inventory(root: Path) -> list[DatasetEntry]:
    """Every named dataset, in the order of the registry."""
    return [_entry(name, source.summary, root) for name, source in SOURCES.items()]


def _entry(name: str, summary: str, root: Path) -> DatasetEntry:
    cache = sum(path.stat().st_size for path in root.glob(f"arrays/{name}-{'?' * 12}.safetensors"))
    if name not in KNOWN:
        return DatasetEntry(name, summary, "built in", None, 0, cache)
    folder = root / KNOWN[name].folder
    state: State = "on disk" if folder.is_dir() else "cache only" if cache else "not on disk"
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return DatasetEntry(name, summary, state, folder, size, cache)
