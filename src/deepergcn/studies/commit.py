"""The commit that the code of this package is at."""

import subprocess
from functools import cache
from pathlib import Path


@cache
def code_commit() -> str:
    """The commit of the checkout that this package runs from, with a + where files differ; empty without one."""
    here = Path(__file__).parent
    if _git(here, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return ""
    commit, changed = _git(here, "rev-parse", "--short=9", "HEAD"), _git(here, "status", "--porcelain", "--", "..")
    return "" if commit is None else commit + ("+" if changed else "")


def _git(folder: Path, *arguments: str) -> str | None:
    """The output of git, or None if it is missing or fails."""
    try:
        answer = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
