"""Unpack archives that may be damaged or hostile: only inside their own folder, completely or not at all."""

import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

from deepergcn.data.storage.files import make_folder
from deepergcn.errors import InputError

_MOST_GROWTH = 100
_SMALL = 100 << 20
_CHUNK = 1 << 20


def extract(archive: Path, folder: Path, verify: Callable[[Path], None]) -> None:
    """Unpack a zip archive as a new ``folder``.

    It is unpacked beside ``folder`` and renamed after ``verify`` has accepted it. If the archive holds a single
    folder, that folder's contents are taken.

    Raises:
        InputError: if the archive is damaged, too large when unpacked, or holds a path outside its folder, a link, a
            duplicate name or an encrypted file; nothing is left behind.
    """

    def make(place: Path) -> Path:
        _unpack(archive, place)
        inside = list(place.iterdir())
        made = inside[0] if len(inside) == 1 and inside[0].is_dir() else place
        verify(made)
        return made

    make_folder(folder, make)


def _unpack(archive: Path, place: Path) -> None:
    limit = max(_SMALL, _MOST_GROWTH * archive.stat().st_size)
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = [entry for entry in opened.infolist() if not entry.is_dir()]
            _check(archive, entries, limit)
            for entry in entries:
                target = place / entry.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                # zipfile stops at the size that was checked above, and compares the checksum.
                with opened.open(entry) as source, target.open("xb") as file:
                    shutil.copyfileobj(source, file, _CHUNK)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeError) as error:
        raise InputError(f"{archive}: is not a valid zip archive ({error})") from error
    except OSError as error:
        raise InputError(f"{archive}: cannot be unpacked into {place.parent} ({error})") from error


def _check(archive: Path, entries: list[zipfile.ZipInfo], limit: int) -> None:
    seen: set[str] = set()
    if not entries:
        raise InputError(f"{archive}: the archive is empty")
    for entry in entries:
        name = entry.filename
        if PureWindowsPath(name).anchor or PurePosixPath(name).anchor or ".." in PureWindowsPath(name).parts:
            raise InputError(f"{archive}: contains {name!r}, which is outside its folder")
        mode = entry.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise InputError(f"{archive}: contains {name!r}, which is a link or a special file")
        if entry.flag_bits & 0x1:
            raise InputError(f"{archive}: contains {name!r}, which is encrypted")
        if name.casefold() in seen:
            raise InputError(f"{archive}: contains {name!r} twice")
        seen.add(name.casefold())
    size = sum(entry.file_size for entry in entries)
    if size > limit:
        raise InputError(f"{archive}: would unpack to {size} bytes; expected at most {limit}")
