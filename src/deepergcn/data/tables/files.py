"""The files of a graph: of its nodes, its edges and sparse features."""

from pathlib import Path

from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.data.storage.endings import TABLE_NAMES
from deepergcn.errors import InputError


def tables_digest(nodes: Path, edges: Path, sparse: Path | None = None) -> str:
    """The digest of the files of a graph."""
    return text_digest(*(file_digest(file) for file in (nodes, edges, sparse) if file is not None))


def table_files(nodes: str | Path, edges: str | Path | None) -> tuple[Path, Path]:
    """The files of nodes and of edges, where ``nodes`` may be a folder that holds both."""
    first = Path(nodes)
    if edges is not None:
        return first, Path(edges)
    if not first.is_dir():
        raise InputError(f"{first}: is one file; expected its edges too (--edges), or a folder with both")
    return _in_folder(first, "nodes"), _in_folder(first, "edges")


def _in_folder(folder: Path, stem: str) -> Path:
    names = [f"{stem}{suffix}" for suffix in TABLE_NAMES]
    found = [folder / name for name in names if (folder / name).is_file()]
    if len(found) != 1:
        raise InputError(f"{folder}: has {len(found)} of the files {', '.join(names)}; expected one")
    return found[0]
