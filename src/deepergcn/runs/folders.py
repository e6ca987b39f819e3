"""Find and name run directories: by default ``runs/solubility``, ``runs/solubility-2``, ...

The runs of several seeds share a folder, as ``seed-0``, ``seed-1``, ...
"""

import re
from pathlib import Path

from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe

ROOT = Path("runs")


def next_folder(name: str) -> Path:
    """The first unused run directory for a recipe."""
    taken = [number for number, _ in _folders(name)]
    return ROOT / (f"{name}-{max(taken) + 1}" if taken else name)


def resumed_folder(recipe: str | Path | None, out: str | Path | None) -> Path:
    """The directory to resume: ``out``, else the newest run of this recipe, else the newest of all.

    It holds one run or the runs of several seeds, see :func:`seed_folders`.
    """
    if out is not None:
        folder = Path(out)
        if not _holds_runs(folder):
            raise InputError(f"{folder}: is not a run directory; there is nothing to resume")
        return folder
    name = None if recipe is None else load_recipe(recipe).name
    if name is not None:
        found = [folder for _, folder in _folders(name) if _holds_runs(folder)]
    else:
        started = {file: file.stat().st_mtime for form in ("*", "*/seed-*") for file in ROOT.glob(f"{form}/run.json")}
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
    found = {file.parent.name.removeprefix("seed-"): file.parent for file in folder.glob("seed-*/run.json")}
    return {int(seed): found[seed] for seed in sorted(found, key=lambda text: (len(text), text)) if seed.isdecimal()}


def _holds_runs(folder: Path) -> bool:
    return (folder / "run.json").is_file() or bool(seed_folders(folder))


def _folders(name: str) -> list[tuple[int, Path]]:
    pattern = re.compile(re.escape(name) + r"(?:-(\d+))?")
    folders = ROOT.iterdir() if ROOT.is_dir() else ()
    matches = ((pattern.fullmatch(folder.name), folder) for folder in folders if folder.is_dir())
    return sorted((int(match[1] or 1), folder) for match, folder in matches if match)
