"""Atomic writes of files and folders: written beside the target, then renamed."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from safetensors import SafetensorError

from deepergcn.errors import InputError, TemporaryError

if TYPE_CHECKING:
    from torch import Tensor

DAY = 86_400.0
"""Seconds after which a half-written file counts as abandoned."""


_PART = re.compile(r"(?P<target>.+)\.[0-9a-f]{32}\.part")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as part:
        part.write_bytes(content)


def write_tensors(path: Path, tensors: Mapping[str, "Tensor"], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file atomically; with a single metadata entry its bytes are reproducible."""
    from safetensors.torch import save_file  # here: not all that write a file have loaded torch

    owned = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as part:
        part.touch()
        usual_mode = part.stat().st_mode
        try:
            save_file(owned, part, metadata=dict(metadata))
        except SafetensorError as error:
            raise TemporaryError(f"{path}: cannot be written ({error})") from error
        part.chmod(usual_mode)  # safetensors makes files that only their owner can read


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside ``path`` to write to, renamed to ``path`` at the end, or removed after an error."""
    part = _part(path)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # whoever may write to /dev would lose the device
            raise InputError(f"{path}: is a pipe or a device; expected the name of a file")
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent, {path.name})
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise TemporaryError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def make_folder(folder: Path, make: Callable[[Path], Path]) -> None:
    """Make a new ``folder`` atomically.

    Args:
        folder: the folder, which must not exist yet.
        make: fills the empty folder that it is given; the folder that it returns, this one or one inside, becomes
            ``folder``.
    """
    if folder.exists():
        raise InputError(f"{folder}: exists already; expected the name of a new folder")
    part = _part(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder.parent, {folder.name})
        part.mkdir()
        make(part).rename(folder)
    except OSError as error:
        raise TemporaryError(f"{folder}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove_abandoned(folder: Path, names: set[str] | None = None, age: float = DAY) -> None:
    """Remove half-written files of killed processes from ``folder``.

    Args:
        folder: the folder; nothing happens if it does not exist.
        names: the files and folders whose half-written parts may be removed; by default all.
        age: seconds since the last write; 0 is for a folder that no other process writes to.
    """
    with suppress(OSError):
        for entry in os.scandir(folder):
            match = _PART.fullmatch(entry.name)
            if match is None or not (names is None or match["target"] in names):
                continue
            with suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime < age:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)


def _part(path: Path) -> Path:
    if not path.name:
        raise InputError(f"{path}: is a folder; expected a name in it")
    return path.with_name(f"{path.name}.{uuid4().hex}.part")
