"""The user's cache folder, which also works without a home directory or an entry in the password file."""

import os
import stat
import tempfile
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from deepergcn.errors import InputError


def user_cache() -> Path:
    """The cache folder of this package.

    If the user has no home or cannot write to it, this is a private temporary folder.
    """
    try:
        path = user_cache_path("deepergcn", appauthor=False)
    except RuntimeError:  # there is no home
        return _temporary_folder()
    return path if path.is_absolute() and _can_be_made(path) else _temporary_folder()


def lend_folder(variable: str, name: str) -> None:
    """Point an environment variable of another package to a folder in the cache if the user has no writable home."""
    home = expand("~")
    if os.environ.get(variable) or (home.is_absolute() and os.access(home, os.W_OK | os.X_OK)):
        return
    os.environ[variable] = str(user_cache() / name)


def is_private(folder: Path) -> bool:
    """Whether a folder exists, belongs to the user, and is not writable by others."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "geteuid"):  # Windows: the folders of a user are closed to others
        return stat.S_ISDIR(found.st_mode)
    others_write = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not others_write


def expand(path: str | Path) -> Path:
    """Expand ``~``; without a home the path stays unchanged."""
    return Path(os.path.expanduser(path))


def real_path(path: str | Path) -> Path:
    """The absolute path, links followed; a loop of links stays as it is, where ``Path.resolve`` raises RuntimeError."""
    try:
        return Path(os.path.realpath(expand(path)))
    except ValueError as error:  # a character that no path has, such as NUL or half of a surrogate pair
        raise InputError(f"{str(path)!a}: cannot be the path of a file ({error})") from error


def _can_be_made(path: Path) -> bool:
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


@cache
def _temporary_folder() -> Path:
    owner = os.geteuid() if hasattr(os, "geteuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"deepergcn-{owner}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return folder
    return folder if is_private(folder) else Path(tempfile.mkdtemp(prefix="deepergcn-"))
