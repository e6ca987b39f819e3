"""Find and name run directories: by default ``runs/solubility``, ``runs/solubility-2``, ...

The runs of several seeds share a folder, as ``seed-0``, ``seed-1``, ..., and those of several folds as ``fold-0``, ...
"""

import re
from collections.abc import Sequence
from pathlib import Path

from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe

ROOT = Path("runs")

DEFAULT = "solubility"
"""The recipe that is trained where none is named."""

SEEDS, FOLDS = "seeds.json", "folds.json"
"""The records of the seeds or folds of a folder, of which some may not have begun."""


def run_folder(recipe: str | Path | None, settings: Sequence[str], out: str | Path | None) -> Path:
    """The directory of a new run of this recipe: ``out``, else the first unused one."""
    return next_folder(load_recipe(recipe or DEFAULT, settings).name) if out is None else named_folder(out)


def named_folder(out: str | Path) -> Path:
    """The run directory of this name."""
    if out == "":  # as a path it is the current folder
        raise InputError("out is ''; expected a run directory")
    return Path(out)


def next_folder(name: str) -> Path:
    """The first unused run directory for a recipe."""
    taken = [number for number, _ in _folders(name)]
    return ROOT / (f"{name}-{max(taken) + 1}" if taken else name)


def resumed_folder(recipe: str | Path | None, out: str | Path | None) -> Path:
    """The directory to resume: ``out``, else the newest run of this recipe, else the newest of all.

    It holds one run or the runs of several seeds or folds, see :func:`member_folders`.
    """
    if out is not None:
        folder = named_folder(out)
        if not _holds_runs(folder):
            raise InputError(f"{folder}: is not a run directory; expected one to resume")
        return folder
    name = None if recipe is None else load_recipe(recipe).name
    if name is not None:
        found = [folder for _, folder in _folders(name) if _holds_runs(folder)]
    else:
        started = {
            file: file.stat().st_mtime
            for form in ("*", "*/seed-*", "*/fold-*")
            for file in ROOT.glob(f"{form}/run.json")
        }
        newest = sorted(started, key=lambda file: started[file])
        found = [ROOT / file.relative_to(ROOT).parts[0] for file in newest]
    if not found:
        raise InputError(f"{ROOT / (name or '')}: there is no run to resume; name a run directory with --out")
    return found[-1]


def seed_folder(folder: Path, seed: int) -> Path:
    """The run directory of a seed."""
    return folder / f"seed-{seed}"


def seed_folders(folder: Path) -> dict[int, Path]:
    """The run directories of the seeds in this folder, by seed; empty if it holds a single run."""
    return _numbered(folder, "seed-")


def fold_folder(folder: Path, fold: int) -> Path:
    """The run directory of a fold."""
    return folder / f"fold-{fold}"


def fold_folders(folder: Path) -> dict[int, Path]:
    """The run directories of the folds in this folder, by number; empty if it holds none."""
    return _numbered(folder, "fold-")


def member_folders(folder: Path) -> dict[int, Path]:
    """The run directories of the seeds or of the folds in this folder; empty if it holds a single run."""
    return seed_folders(folder) or fold_folders(folder)


def _numbered(folder: Path, prefix: str) -> dict[int, Path]:
    found = {file.parent.name.removeprefix(prefix): file.parent for file in folder.glob(f"{prefix}*/run.json")}
    return {int(text): found[text] for text in sorted(found, key=lambda text: (len(text), text)) if text.isdecimal()}


def _holds_runs(folder: Path) -> bool:
    return (folder / "run.json").is_file() or bool(member_folders(folder))


def _folders(name: str) -> list[tuple[int, Path]]:
    pattern = re.compile(re.escape(name) + r"(?:-(\d+))?")
    folders = ROOT.iterdir() if ROOT.is_dir() else ()
    matches = ((pattern.fullmatch(folder.name), folder) for folder in folders if folder.is_dir())
    return sorted((int(match[1] or 1), folder) for match, folder in matches if match)
