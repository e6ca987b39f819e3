"""Check files before they are opened: a pipe would block, and a folder gives an unclear error."""

import gzip
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path

from deepergcn.data.storage.memory import check_memory
from deepergcn.errors import InputError

_PIECE = 1 << 24
_COPIES = 3  # of a content that are in memory: pieces, whole, and as a table


def check_name(path: Path, what: str = "file") -> None:
    """Check that the name of a file or folder is UTF-8, which readers of tables and tensors need."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{str(path)!a}: the name is not UTF-8; expected a {what} with another name") from error


def check_file(path: Path) -> None:
    """Check that a regular file exists, and that its name is UTF-8."""
    check_name(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # ValueError: a name with a NUL
        raise InputError(f"{path}: there is no such file") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a folder; expected a file")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: is a pipe or a device; expected a file")


def read_bytes(path: Path) -> bytes:
    """Read a file, decompressed if its name ends in ``.gz``; refused if it does not fit into memory."""
    check_file(path)
    if not path.name.lower().endswith(".gz"):
        _check_size(path, path.stat().st_size)
    pieces: list[bytes] = []
    size = 0
    for piece in read_pieces(path, _PIECE):
        pieces.append(piece)
        size += len(piece)
        _check_size(path, size)  # a small file can expand a thousandfold
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_pieces(path: Path, size: int) -> Iterator[bytes]:
    """The content of a file, decompressed if its name ends in ``.gz``, in pieces of this size."""
    check_file(path)
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            while piece := file.read(size):
                yield piece
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: it is damaged or cut short ({error})") from error


def _check_size(path: Path, size: int) -> None:
    check_memory(_COPIES * size, f"{path}: {size / 1e9:,.1f} GB of content or more")
