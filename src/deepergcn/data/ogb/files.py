"""Where the tables of OGB's layout are: each may be compressed or not."""

from pathlib import Path

from deepergcn.errors import InputError

SUFFIXES = (".csv.gz", ".csv")


def find_table(folder: Path, name: str) -> Path | None:
    """The file of this name with either suffix, if it exists."""
    return next((p for suffix in SUFFIXES if (p := folder / f"{name}{suffix}").is_file()), None)


def need_table(folder: Path, name: str) -> Path:
    """The file of this name with either suffix."""
    found = find_table(folder, name)
    if found is None:
        raise InputError(f"{folder}: has no {name}.csv.gz, which OGB's layout needs")
    return found
