"""SHA-256 digests of files and of the options they are read with."""

import hashlib
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from deepergcn.data.storage.source_files import check_file
from deepergcn.errors import InputError


def file_digest(path: Path) -> str:
    """The SHA-256 of one file."""
    check_file(path)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def file_digests(files: Iterable[Path], folder: Path) -> dict[str, str]:
    """The SHA-256 of several files, by name relative to ``folder``."""
    ordered = sorted(files)
    with ThreadPoolExecutor() as pool:
        digests = pool.map(file_digest, ordered)
        return {path.relative_to(folder).as_posix(): d for path, d in zip(ordered, digests, strict=True)}


def source_digest(files: Iterable[Path], folder: Path) -> str:
    """One digest of several files: their names relative to ``folder`` and their contents."""
    return text_digest(file_digests(files, folder))


def text_digest(*values: Any) -> str:
    """The SHA-256 of JSON-like values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
