"""The names of run directories that nobody named: ``runs/solubility``, ``runs/solubility-2``, ..."""

import re
from pathlib import Path

from deepergcn.errors import InputError

ROOT = Path("runs")


def next_folder(name: str) -> Path:
    """A run directory for this recipe that is not there yet."""
    taken = [number for number, _ in _folders(name)]
    return ROOT / (f"{name}-{max(taken) + 1}" if taken else name)


def newest_folder(name: str | None) -> Path:
    """The last run directory of this recipe, or of any."""
    if name is None:
        runs = sorted(ROOT.glob("*/run.json"), key=lambda file: file.stat().st_mtime)
        found = [file.parent for file in runs]
    else:
        found = [folder for _, folder in _folders(name)]
    if not found:
        raise InputError(f"{ROOT / (name or '')}: there is no run to resume; --out names a run directory")
    return found[-1]


def _folders(name: str) -> list[tuple[int, Path]]:
    pattern = re.compile(re.escape(name) + r"(?:-(\d+))?")
    folders = ROOT.iterdir() if ROOT.is_dir() else ()
    matches = ((pattern.fullmatch(folder.name), folder) for folder in folders if folder.is_dir())
    return sorted((int(match[1] or 1), folder) for match, folder in matches if match)
